from hypothesis import HealthCheck, settings

# Kernels compile on their first call, so an example has no time limit; examples are drawn from a
# fixed seed, so that a run can be repeated.
settings.register_profile(
    "spectrawalk",
    deadline=None,
    derandomize=True,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("spectrawalk")
