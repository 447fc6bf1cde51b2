"""Plots of the report as SVG: fitted frames on white, held-out frames on a shade."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from video2phys.types import Parameters, StateTrack

MEASURED, FIT, MUJOCO, SHADE = "#0e8fa8", "#d98a00", "#6b4fd8", "#e63c9618"
MOST_PANELS = 6


def motion(states: StateTrack, parameters: Parameters, simulated: np.ndarray | None) -> str:
    """Measured (dots, 95 % bars), fitted (line) and replayed (dashes) position and angle against time; "" without any."""
    panels = []
    objects = states.position.shape[1]
    for o in range(objects):
        tail = f" of object {o}" if objects > 1 else ""
        for axis, name in enumerate("xyz"):
            sigma = states.position_sigma[:, o, axis]
            use = states.valid[:, o] & np.isfinite(sigma)
            if use.sum() < 2:
                continue
            fit = parameters.position[:, o, axis]
            replayed = None if simulated is None else np.where(np.isfinite(fit), simulated[:, o, axis], np.nan)  # as far as the fit goes
            panels.append(
                (f"{name}{tail} [{states.unit}]", states.position[:, o, axis], sigma, use, parameters.position[:, o, axis], replayed)
            )
        use = states.valid[:, o] & np.isfinite(states.rotation_sigma[:, o]).any(1)
        if states.kind == "planar" and use.sum() > 1:
            sigma = np.degrees(
                np.nanmin(np.where(np.isfinite(states.rotation_sigma[:, o]), states.rotation_sigma[:, o], np.nan), axis=1, initial=np.inf)
            )
            fit = np.asarray(np.isfinite(parameters.position[:, o]).all(1))
            panels.append(
                (f"angle{tail} [deg]", _angle(states.rotation[:, o], use), sigma, use, _angle(parameters.rotation[:, o], fit), None)
            )
    if not panels:
        return ""
    figure, axes = _figure(min(len(panels), MOST_PANELS))
    for ax, (label, value, sigma, use, fit, replayed) in zip(axes, panels, strict=False):
        _shade(ax, parameters)
        bars = 1.96 * np.where(use, sigma, 0)
        ax.errorbar(parameters.time[use], value[use], bars[use], fmt=".", ms=4, lw=0.8, color=MEASURED, label="measured, ± 95 %", zorder=2)
        ax.plot(parameters.time, fit, color=FIT, lw=1.8, label="fitted model", zorder=3)
        if replayed is not None:
            ax.plot(parameters.time, replayed, color=MUJOCO, lw=1.2, ls="--", label="MuJoCo replay", zorder=4)
        ax.set_ylabel(label)
    axes[0].legend(loc="best", frameon=False, fontsize=8)
    return _svg(figure)


def residuals(parameters: Parameters) -> str:
    """Measured minus predicted against time, one panel a kind; "" when there are none."""
    table, names = parameters.residuals, parameters.residual_names
    keep = [i for i in range(table.shape[1]) if np.isfinite(table[:, i]).any()]
    if not keep:
        return ""
    if len(keep) > MOST_PANELS:
        squares = np.where(np.isfinite(table), table, np.nan) ** 2
        seen = np.isfinite(table).any(1)
        mean = np.full(len(table), np.nan)
        mean[seen] = np.sqrt(np.nanmean(squares[seen], 1))
        panels = [(f"RMS of {len(keep)} residuals", mean)]
    else:
        panels = [(names[i].replace("_px", " [px]").replace("_", " "), table[:, i]) for i in keep]
    figure, axes = _figure(len(panels))
    for ax, (label, value) in zip(axes, panels, strict=True):
        _shade(ax, parameters)
        ax.axhline(0, color="#999", lw=0.8)
        for rows, colour, name in (
            (parameters.train, FIT, "fitted"),
            (parameters.heldout, "#e63c96", "held out"),
            (~(parameters.train | parameters.heldout), "#999", "not used"),
        ):
            if rows.any() and np.isfinite(value[rows]).any():
                ax.plot(parameters.time[rows], value[rows], ".", ms=5, color=colour, label=name)
        ax.set_ylabel(label)
    axes[0].legend(loc="best", frameon=False, fontsize=8)
    return _svg(figure)


def _angle(rotation: np.ndarray, use: np.ndarray) -> np.ndarray:
    """Unwrapped angle [deg] about -y of quaternions (T, 4)."""
    out = np.full(len(rotation), np.nan)
    out[use] = np.degrees(np.unwrap(2 * np.arctan2(-rotation[use, 2], rotation[use, 0]), period=2 * np.pi))
    return out


def _shade(ax: Any, parameters: Parameters) -> None:
    """A band over every stretch of held-out frames."""
    held = np.flatnonzero(parameters.heldout)
    step = float(np.median(np.diff(parameters.time))) / 2 if len(parameters.time) > 1 else 0.0
    for run in np.split(held, np.flatnonzero(np.diff(held) > 1) + 1) if len(held) else []:
        ax.axvspan(parameters.time[run[0]] - step, parameters.time[run[-1]] + step, color=SHADE, lw=0, zorder=0)


def _figure(panels: int) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    columns = 1 if panels == 1 else 2
    lines = -(-panels // columns)
    figure = Figure(figsize=(10, 2.6 * lines), layout="constrained")
    axes = [figure.add_subplot(lines, columns, i + 1) for i in range(panels)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#00000012", lw=0.8)
        ax.tick_params(labelsize=8)
        ax.set_xlabel("time [s]", fontsize=8)
        ax.yaxis.label.set_size(9)
    return figure, axes


def _svg(figure: Any) -> str:
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "report", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
