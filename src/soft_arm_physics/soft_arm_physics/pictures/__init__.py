"""Pictures and videos of simulations."""
