"""What the motion says about the interior: a family of interiors, never more than is known."""

from __future__ import annotations

from video2phys.context import Context
from video2phys.topology.family import members, solid
from video2phys.topology.known import Known, gather
from video2phys.topology.settings import Settings
from video2phys.types import Body, Frames, Gaussians, Parameter, Parameters, StateTrack, Topology, Verdict

TEN = (
    "One rigid motion fixes at most ten numbers of a body (mass, centre of mass, inertia), so that different interiors with the same "
    "ten numbers move alike and cannot be told apart."
)


def run(frames: Frames, gaussians: Gaussians, states: StateTrack, parameters: Parameters, settings: Settings, context: Context) -> Topology:
    """Test interiors of a rigid body against the mass, centre and inertia that are known; other bodies are assumed solid."""
    if parameters.model != "rigid":
        return Topology(False, f"Solid assumed, not tested: interiors of {parameters.model} bodies are not looked for in this version.", (),
                        notes=("the body is taken as solid, with one density",))  # fmt: skip
    metric = parameters.unit == "m" or parameters.px_per_m is not None
    if len(gaussians.bodies) != 1 or not metric:
        why = "no length scale is known" if not metric else "several objects meet, which shows mass ratios only"
        return Topology(False, f"Solid assumed, not tested: {why}. {TEN}", (), notes=("each body is taken as solid, with one density",))
    scale = 1.0 if parameters.unit == "m" or parameters.px_per_m is None else 1 / parameters.px_per_m
    known = gather(frames, parameters, scale, settings)
    body = gaussians.refined(parameters).bodies[0]
    context.progress(0.2, "interiors")
    family = members(
        solid(body.particle * scale, body.volume * scale**3, body.vertices * scale, body.faces), known, settings.insert_density_max
    )
    if scale != 1:
        from dataclasses import replace

        family = tuple(replace(i, center=i.center / scale) for i in family)  # back to artefact lengths
    allowed = [i for i in family if i.allowed]
    mass = parameters.get("mass")
    return Topology(
        tested=known.tells,
        statement=_tested(known, allowed) if known.tells else _untested(known),
        family=family,
        mass=mass if known.where[0] else _assumed(body, scale, known),
        center=parameters.get("center_of_mass"),
        inertia=parameters.get("inertia"),
        notes=() if known.tells else ("the body is taken as solid, with one density",),
    )


def _assumed(body: Body, scale: float, known: Known) -> Parameter | None:
    """The mass of a solid of the given density: an assumption, reported as one."""
    if known.density is None:
        return None
    mass = float(body.volume.sum() * scale**3 * known.density)
    spread = 1.96 * mass * known.density_sigma / known.density
    note = "given density times reconstructed volume: holds for a solid only"
    return Parameter("mass", mass, "kg", [mass - spread, mass + spread], Verdict.GIVEN, "uniform solid", note)


def _untested(known: Known) -> str:
    has = "The mass is known, but neither" if known.where[0] else "Neither"
    return (
        f"Nothing was tested beyond assumption: solid is assumed. {has} the centre of mass nor the inertia shows in this motion "
        f"(a slide or a free flight that is followed without its turning does not depend on them). {TEN} The interiors listed all agree."
    )


def _tested(known: Known, allowed: list) -> str:
    names = ("mass", "centre x", "centre y", "centre z", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    told = [n for n, there in zip(names, known.where, strict=True) if there] + (["density of the material"] if known.density else [])
    kinds = [i.description.split(", e.g.")[0] for i in allowed]
    if not allowed:
        end = "None of the interiors tried agrees with them: the shape, the scale or a given number may be wrong."
    elif len(kinds) == 1:
        end = f"Of the interiors tried only one agrees: {kinds[0]}. Others that were not tried may agree as well."
    else:
        end = f"These interiors all agree and cannot be told apart: {'; '.join(kinds)}."
    solid_out = allowed and all(i.kind != "solid" for i in allowed)
    return (
        f"Tested against {len(told)} known numbers ({', '.join(told)}). {'A uniform solid is ruled out. ' if solid_out else ''}{end} {TEN}"
    )
