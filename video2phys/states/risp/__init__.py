"""States by a rendering-invariant network (RISP, Ma et al., ICLR 2022), trained on the reconstructed object."""
