"""Valve boards over Modbus TCP and RTU, with watchdog and vent."""
