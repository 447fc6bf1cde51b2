"""What `video2phys init` writes."""

TEMPLATE = """\
# Everything here is optional: it tells what pixels cannot. docs/formats.md explains every key.
# video: video.mp4                # or videos: {cam00: a.mp4, cam01: b.mp4}
# tracks: motion.csv              # measured tracks instead of video
# fps: 240                        # true frame rate, when the file says otherwise (slow motion)
# camera: {mode: planar, px_per_m: 460}     # motion parallel to the picture, scale known
# camera: {mode: planar, scale: gravity}    # ... scale from free fall
# baseline: {between: [a.jpg, b.jpg], distance: 0.35}   # photographs: distance of two cameras [m]
# gravity: [0, 0, -9.81]          # or none, or free (to be estimated)
# ground: auto                    # or {normal: [0, 0, 1], offset: 0}, {incline_deg: 22}, none
# object: {size: [0.12, 0.08, 0.06], density: 600}   # any of size, diameter [m], mass [kg], density [kg/m^3]
# objects: 1                      # how many things move
# model: rigid                    # or elastic, plasticine, granular, fluid, viscoplastic; absent = found from the motion and the outlines
"""
