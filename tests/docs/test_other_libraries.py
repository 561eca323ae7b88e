"""What the guide to other libraries says about them."""

import faiss
import numpy as np

import protocol as hp


def test_an_encoder_of_faiss_gives_the_first_bit_weight_1():
    """IndexLSH rotates vectors and takes the signs, which are compared with its packed codes and with our distances."""
    vectors = np.random.default_rng(0).normal(size=(40, 16)).astype(np.float32)
    index = faiss.IndexLSH(16, 24)
    rotation = faiss.vector_to_array(index.rrot.A).reshape(24, 16)
    bits, packed = vectors @ rotation.T > 0, index.sa_encode(vectors)
    assert np.array_equal(np.unpackbits(packed, axis=1, bitorder="little"), bits)
    of_all = faiss.IndexBinaryHNSW(24, 16)
    of_all.add(packed)
    read = hp.Codes(of_all.reconstruct_n(0, 40), n_bits=of_all.d)
    labels = {"query_labels": np.arange(40) % 3, "database_labels": np.arange(40) % 3}
    assert hp.evaluate(read, read, **labels).metrics == hp.evaluate(bits, bits, **labels).metrics
