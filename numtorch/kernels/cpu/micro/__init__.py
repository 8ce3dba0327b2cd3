"""The register tile of this processor: tile (what the micro-kernels mean), microkernel (their vector IR), blocks_ir (its loops)."""
