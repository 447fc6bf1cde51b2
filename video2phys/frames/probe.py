"""What a video file holds, and its frames one by one, whatever state it is in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from video2phys.errors import BadInput

if TYPE_CHECKING:
    from av import VideoFrame

REENCODE = "Re-encode it: ffmpeg -i IN -c:v libx264 -pix_fmt yuv420p OUT.mp4"


@dataclass(frozen=True)
class Reel:
    """The frames that a video file lists, in order of presentation."""

    file: Path
    codec: str
    stamps: np.ndarray  # (N,) int presentation stamps, increasing; empty = the file has none
    unit: float  # [s] of one stamp
    listed: int  # frames that the file claims or lists
    rate: float | None  # [1/s] average rate that the container claims

    @property
    def seconds(self) -> np.ndarray:
        """[s] (N,) time of each frame as the file says; by the average rate where it has no stamps."""
        if len(self.stamps):
            return self.stamps * self.unit
        return np.arange(self.listed) / (self.rate or 25.0)


def probe(file: Path) -> Reel:
    """List the frames of `file` without decoding them. Raises BadInput for what is no video, naming what it is."""
    from av.error import FFmpegError

    with _open(file) as container:
        stream = _stream(container, file)
        stamps: list[int] = []
        packets = hidden = 0
        try:
            for packet in container.demux(stream):
                if packet.size == 0:
                    continue
                if packet.is_discard:  # an edit list hides it
                    hidden += 1
                    continue
                packets += 1
                if packet.pts is not None:
                    stamps.append(packet.pts)
        except FFmpegError:
            pass  # a truncated file ends here; the counts below tell the user
        known = np.unique(np.array(stamps, np.int64)) if len(stamps) >= 0.9 * packets else np.zeros(0, np.int64)
        rate = float(stream.average_rate) if stream.average_rate else None
        listed = max(packets, stream.frames - hidden, _promised(container, stream, rate, packets))
        return Reel(file, stream.codec_context.name, known, float(stream.time_base or 1.0), listed, rate)


def pictures(reel: Reel) -> Iterator[tuple[int, VideoFrame]]:
    """(index into reel.seconds, frame) for every frame that decodes whole, in order of presentation."""
    from av.error import FFmpegError

    index = {int(stamp): i for i, stamp in enumerate(reel.stamps)}
    count = -1
    with _open(reel.file) as container:
        packets = container.demux(_stream(container, reel.file))
        while True:
            try:
                packet = next(packets)
            except (StopIteration, FFmpegError):
                return
            if packet.is_corrupt:  # cut short: some codecs would make half a picture of it
                continue
            try:
                frames: list[Any] = packet.decode()
            except FFmpegError:
                continue  # a damaged packet; what follows may be whole
            for frame in frames:
                count += 1
                where = index.get(frame.pts) if index else count
                if where is not None and not frame.is_corrupt:
                    yield where, frame


def quarter_turns(frame: VideoFrame) -> int:
    """Counter-clockwise quarter turns that bring a decoded frame upright, from its display matrix."""
    return round(frame.rotation / 90) % 4


def _promised(container: Any, stream: Any, rate: float | None, packets: int) -> int:
    """Frames that the header's duration promises, where the container counts none and holds nothing but the video."""
    if stream.frames or not rate or not container.duration or len(container.streams) > 1:
        return 0
    promised = round(rate * container.duration / 1e6)
    return promised if promised > packets + 1 else 0  # some durations end with the last frame, some after it


def _open(file: Path) -> Any:
    import av
    from av.error import FFmpegError

    try:
        if file.stat().st_size == 0:
            raise BadInput(f"{file} is empty.", fix="Copy the video again.")
        return av.open(str(file.absolute()), metadata_errors="ignore")  # "cam:1.mp4" alone would name a protocol
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}.", fix="Check the path and that the file is readable.") from error
    except FFmpegError as error:
        raise BadInput(
            f"{file} is not a video that can be opened ({str(error.strerror).lower()}).",
            fix="Give another file; copy it again if the copy was cut short.",
        ) from error


def _stream(container: Any, file: Path) -> Any:
    streams = [s for s in container.streams.video if not s.disposition & s.disposition.attached_pic]
    if not streams:
        kinds = sorted({s.type for s in container.streams}) or ["nothing"]
        raise BadInput(f"{file} has no video stream, only {' and '.join(kinds)}.", fix="Give a file with pictures.")
    stream = streams[0]
    if stream.codec_context is None:
        raise BadInput(f"{file}: its codec cannot be decoded here.", fix=REENCODE)
    return stream
