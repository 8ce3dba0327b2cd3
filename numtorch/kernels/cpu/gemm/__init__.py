"""Products: product (what one is, and its split), pack, gemm (blocked), depth (split over the depth), tiny (batches of small
ones), gemv, half (16-bit floats)."""
