"""What is little is done by the driver: a job costs a tenth of a second, whatever it does."""

from nestling.engine.spark.driver.run import Driver

__all__ = ["Driver"]
