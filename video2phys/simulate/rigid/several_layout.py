"""What the columns of the kernel's arrays hold (several_kernel.py), for a batch of B scenes of O bodies."""

# What a row of `body` (B, O + 1, BODY) holds, from which column on; the last row is the plane, which nothing moves.
X, Q, V, L = 0, 3, 7, 10  # position of the centre of mass, quaternion, velocity, angular momentum
FORCE, TORQUE = 13, 16  # acceleration of the centre, torque: constant until the next event
U, W, P, M = 19, 22, 25, 28  # while impulses are solved: velocity, angular velocity, sums of the impulses and of their moments
P_FULL, M_FULL = 31, 34  # those with all the restitution, where it would create energy
J, INVERSE = 37, 46  # inverse inertia about world axes, and about body axes
LIGHT, CENTRE, MU, E, DRAG = 55, 56, 59, 60, 61  # 1 / mass, centre of mass in body axes, friction, restitution, drag
ORIGIN, MIDDLE = 62, 65  # where `place` has put the body: its origin, the centre of the sphere about it
X_THEN, Q_THEN = 68, 71  # and its centre of mass and quaternion
BODY = 75

# What a row of `contact` (B, C, CONTACT) holds
POINT, NORMAL, GAP = 0, 3, 6  # the normal points from the second body to the first
EDGE1, EDGE2 = 7, 10  # directions of the edges that meet there; EDGE2 is that which a ball touches, or zero
NORMAL_THEN, ARM1, ARM2, LEVER1, LEVER2 = 13, 16, 19, 22, 25  # arms carry velocities, levers impulses
GOAL, PULSE, HOLD = 28, 31, 34  # velocity wanted; impulse; the impulse that held the bodies apart in the last step
K_NORMAL, K_ACROSS = 37, 38
CONTACT = 39

# and of `who` (B, C, WHO): first body, second body, key of the contact, its pair, kind, what its point rides on, whether it touches
FIRST, SECOND, KEY, PAIR, KIND, RIDE, TOUCHES = range(7)
WHO = 7
BALL, FLAT, FACE1, FACE2, EDGES = range(5)  # who gives the normal: a ball's centre, a face under a ball, a face of either body, edges
ON_FIRST, ON_SECOND, CROSSING = range(3)  # a corner of either body, or where two edges cross

OPEN, CLOSED, STRUCK = 0, 1, 2  # what `mark` (B, N) says of a pair
POINTS = 8  # contact points of a pair at most
CORNERS, RING = 128, 11  # of a clipped face at most; columns that describe one
CORNER_OF_G, CORNER_OF_F = 0, 1  # beside CROSSING
FAR = 0.1  # of the radii of spheres about the bodies: farther apart, the gap of the spheres stands for theirs
REACH = 0.01  # of a body's extent: corners of touching bodies this close count as points that may touch next
