"""Benchmarks: polyflip's search beside general solvers and a peer, on the same problems, in one run."""
