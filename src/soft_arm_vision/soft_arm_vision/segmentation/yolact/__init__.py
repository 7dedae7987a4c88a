"""YOLACT, real-time instance segmentation (Bolya et al., ICCV 2019), for one or few classes.

`network`, `losses` and `training` need torch; `anchors` and `detection` need NumPy only, so that an
exported network runs without it.
"""
