"""Text without a vocabulary: hashing, feature crosses, sparse bags of words, weighted by tf-idf."""

import tensorflow as tf

DOCS = ["red apple green apple", "green tea", "red wine red rose", "apple tea"]
CITIES = ["oslo", "rome", "oslo", "paris"]
BUCKETS = 32


def term_counts(text):
    ids = tf.strings.to_hash_bucket_fast(tf.strings.split(text), BUCKETS)
    unique, _, counts = tf.unique_with_counts(tf.sort(ids))
    indices = tf.expand_dims(unique, 1)
    return tf.SparseTensor(indices, tf.cast(counts, tf.float32), [BUCKETS])


def cross(text, city):
    first = tf.strings.split(text)[0]
    crossed = tf.strings.join([city, first], separator="_X_")
    return tf.strings.to_hash_bucket_fast(crossed, 100)


def results(folder):
    ds = tf.data.Dataset.from_tensor_slices((DOCS, CITIES))
    counts = ds.map(lambda text, city: term_counts(text))
    dense = counts.map(tf.sparse.to_dense).batch(4).get_single_element()
    df = tf.reduce_sum(tf.cast(dense > 0, tf.float32), axis=0)
    idf = tf.math.log((1.0 + len(DOCS)) / (1.0 + df)) + 1.0
    weighted = dense * idf
    normed = tf.math.l2_normalize(weighted, axis=1)
    similarity = tf.matmul(normed, normed, transpose_b=True)
    values, order = tf.math.top_k(similarity - 2 * tf.eye(4), k=1)
    batched = counts.batch(2)
    wide = ds.map(lambda text, city: tf.one_hot(cross(text, city), 100))
    batch = tf.strings.split(DOCS)
    hashed = tf.ragged.map_flat_values(tf.strings.to_hash_bucket_fast, batch, BUCKETS)
    return {
        "counts": [c for c in counts],
        "dense": dense,
        "idf": tf.gather(idf, tf.where(df > 0)[:, 0]),
        "similarity": similarity,
        "nearest": order,
        "nearest values": values,
        "batched": [tf.sparse.to_dense(b) for b in batched],
        "summed": tf.sparse.reduce_sum(next(iter(batched)), axis=1),
        "crossed": [cross(text, city) for text, city in ds],
        "wide": [tf.argmax(w) for w in wide],
        "ragged": hashed,
        "text": [
            tf.strings.reduce_join(tf.strings.as_string(row), separator=",") for row in hashed
        ],
    }
