"""The devices that programs are built for."""
