"""tf.linalg: linear algebra with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError, raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import array, in_one_type, tensor
from penstock.compat.tf.arrays import eye
from penstock.compat.tf.math import l2_normalize


def _of_matrix(name: str, function: Any) -> Callable[..., Any]:
    def call(input: Any, name: str | None = None) -> Any:
        x = array(input)
        try:
            made = function(x)
        except np.linalg.LinAlgError as error:
            raise InvalidArgumentError(None, None, f"{function.__name__}: {error}") from None
        return tensor(np.asarray(made, made.dtype if x.dtype.kind == "c" else x.dtype))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return NumPy's `{function.__name__}` of each matrix."
    return call


for _name, _function in {
    "cholesky": np.linalg.cholesky,
    "det": np.linalg.det,
}.items():
    globals()[_name] = _of_matrix(_name, _function)


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Any:
    """Return the norm of all values, or of vectors or matrices along axes.

    Parameters
    ----------
    tensor : array_like of float
        The values.
    ord : str or number
        "euclidean", "fro", a power, or infinity.
    axis : int or pair of int, optional
        One axis for vectors, two for matrices. None: treat all values as a single vector.
    keepdims : bool, optional
        Whether to keep the axes, with size 1.
    name : str, optional
        A label without effect.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.norm([3.0, 4.0])
    <tf.Tensor: shape=(), dtype=float32, numpy=5.0>
    """
    x = array(tensor)
    matrix = np.ndim(axis) == 1 and len(axis) == 2
    euclidean = ord in ("euclidean", "fro") or (ord == 2 and not matrix)
    if euclidean:
        axes = tuple(int(a) for a in axis) if np.ndim(axis) else axis
        squares = np.sum(np.square(np.abs(x)), axes, keepdims=bool(keepdims))
        return _tensor(np.sqrt(squares), squares.dtype)
    if axis is None:
        made = np.linalg.norm(x.ravel(), ord)
        return _tensor(made.reshape((1,) * x.ndim) if keepdims else made, made.dtype)
    axes = tuple(int(a) for a in axis) if matrix else int(np.ravel(axis)[0])
    return _tensor(np.linalg.norm(x, ord, axes, bool(keepdims)))


def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Return values divided by their `norm`, and the norm with its axes kept."""
    length = norm(tensor, ord, axis, True)
    return _tensor(tensor) / length, length


def global_norm(t_list: Any, name: str | None = None) -> Any:
    """Return the common norm of several arrays; None entries are ignored."""
    arrays = [array(each) for each in t_list if each is not None]
    return tensor(np.sqrt(sum(np.sum(np.square(each)) for each in arrays)), arrays[0].dtype)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    name: str | None = None,
) -> Any:
    """Return the matrix product, for single matrices or stacks."""
    x, y = map(tensor, in_one_type([a, b]))
    x = np.swapaxes(x, -1, -2) if transpose_a or adjoint_a else x
    y = np.swapaxes(y, -1, -2) if transpose_b or adjoint_b else y
    try:
        made = (np.conj(x) if adjoint_a else x) @ (np.conj(y) if adjoint_b else y)
    except ValueError as error:  # shapes that do not match
        raise_translated(error)
    return made if output_type is None else tensor(made, output_type)


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the product of a matrix and a vector, for single ones or stacks."""
    x, y = map(tensor, in_one_type([a, b]))
    return matmul(x, y[..., None], transpose_a, adjoint_a=adjoint_a)[..., 0]


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Any:
    """Return matrices with rows and columns swapped."""
    exchanged = np.swapaxes(array(a), -1, -2)
    return tensor(exchanged.conj() if conjugate else exchanged)


def adjoint(matrix: Any, name: str | None = None) -> Any:
    """Return the conjugate transpose of matrices."""
    return matrix_transpose(matrix, conjugate=True)


_inverse = _of_matrix("inv", np.linalg.inv)


def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Return the inverse of each matrix, or of its adjoint.

    Raises
    ------
    InvalidArgumentError
        If a matrix is singular.
    """
    x = matrix_transpose(input, conjugate=True) if adjoint else input
    return _inverse(x)


def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Any:
    """Return the pseudo-inverse of each matrix."""
    x = array(a)
    if rcond is None:
        rcond = 10 * max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return tensor(np.linalg.pinv(x, np.asarray(rcond)))


def trace(x: Any, name: str | None = None) -> Any:
    """Return the sum of the diagonal of each matrix."""
    x = array(x)
    return tensor(np.trace(x, axis1=-2, axis2=-1, dtype=x.dtype))


def cross(a: Any, b: Any, name: str | None = None) -> Any:
    """Return the cross products of 3-element vectors."""
    return tensor(np.cross(*in_one_type([a, b])))


def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Any:
    """Return matrices with zeros outside of a band around the diagonal.

    Parameters
    ----------
    input : array_like, shape ``(..., rows, columns)``
        The matrices.
    num_lower, num_upper : int
        Number of diagonals to keep below and above the main one; -1 for all.
    name : str, optional
        A label without effect.
    """
    x = array(input)
    above = np.arange(x.shape[-1]) - np.arange(x.shape[-2])[:, None]
    kept = (int(num_lower) < 0) | (-above <= int(num_lower))
    kept &= (int(num_upper) < 0) | (above <= int(num_upper))
    return tensor(np.where(kept, x, x.dtype.type(0)))


def diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return matrices with these diagonals.

    Parameters
    ----------
    diagonal : array_like, shape ``(..., n)``
        The diagonals.
    name : str, optional
        A label without effect.
    k : int
        Number of the diagonal: 0 for the main one, positive above it.
    num_rows, num_cols : int
        The size of the matrices. By default, the minimum; square if both are omitted.
    padding_value : scalar
        The value of all other entries.
    align : str
        Ignored: it applies to several diagonals only.
    """
    values, k = array(diagonal), _offset(k)
    n = values.shape[-1]
    rows, columns = (None if size == -1 else int(size) for size in (num_rows, num_cols))
    if rows is None and columns is None:
        rows = columns = n + abs(k)
    rows = n + max(-k, 0) if rows is None else rows
    columns = n + max(k, 0) if columns is None else columns
    made = np.full((*values.shape[:-1], rows, columns), padding_value, values.dtype)
    at = np.arange(n)
    made[..., at + max(-k, 0), at + max(k, 0)] = values
    return tensor(made)


def diag_part(
    input: Any,
    name: str = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return a diagonal of each matrix; parameters as in `diag`."""
    return tensor(np.diagonal(array(input), _offset(k), -2, -1).copy())


def set_diag(
    input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT"
) -> Any:
    """Return matrices with a diagonal replaced; parameters as in `diag`."""
    first, values = in_one_type([input, diagonal])
    made, k = np.array(first), _offset(k)
    at = np.arange(np.shape(values)[-1])
    made[..., at + max(-k, 0), at + max(k, 0)] = values
    return tensor(made)


def _offset(k: Any) -> int:
    if np.size(k) > 1 and np.ravel(k)[0] != np.ravel(k)[-1]:
        raise ValueError(f"diag: one diagonal was expected, got k={k}")
    return int(np.ravel(k)[0])


def tensor_diag(diagonal: Any, name: str | None = None) -> Any:
    """Return zeros of shape ``(*shape, *shape)`` with an array of that shape on the diagonal."""
    x = array(diagonal)
    return tensor(np.diag(x.ravel()).reshape(x.shape * 2))


def tensor_diag_part(input: Any, name: str | None = None) -> Any:
    """Return the diagonal of an array of shape ``(*shape, *shape)``."""
    x = array(input)
    shape = x.shape[: x.ndim // 2]
    return tensor(np.diagonal(x.reshape(int(np.prod(shape)), -1)).copy().reshape(shape))


def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    """Solve systems of linear equations, column by column."""
    a, b = in_one_type([matrix, rhs])
    try:
        return tensor(np.linalg.solve(matrix_transpose(a, conjugate=True) if adjoint else a, b))
    except np.linalg.LinAlgError as error:
        raise InvalidArgumentError(None, None, f"solve: {error}") from None


def triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solve triangular systems; entries outside of the triangle are ignored."""
    return solve(band_part(matrix, *((-1, 0) if lower else (0, -1))), rhs, adjoint)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """Solve systems, given the `cholesky` factors of their matrices."""
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True)


def lstsq(
    matrix: Any,
    rhs: Any,
    l2_regularizer: float = 0.0,
    fast: bool = True,
    name: str | None = None,
) -> Any:
    """Solve systems of linear equations in the least-squares sense."""
    a, b = (np.asarray(each) for each in in_one_type([matrix, rhs]))
    square = np.swapaxes(a, -1, -2) @ a
    if l2_regularizer:
        return solve(
            square + np.asarray(l2_regularizer, a.dtype) * np.eye(a.shape[-1], dtype=a.dtype),
            np.swapaxes(a, -1, -2) @ b,
        )
    return tensor(np.linalg.pinv(a) @ b)


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> tuple[Any, Any]:
    """Return the QR decomposition of each matrix: orthogonal and triangular factors."""
    made = np.linalg.qr(array(input), "complete" if full_matrices else "reduced")
    return tensor(made[0]), tensor(made[1])


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Return the singular values, and the matrices of left and right singular vectors."""
    if not compute_uv:
        return _tensor(np.linalg.svd(array(tensor), compute_uv=False))
    u, s, vh = np.linalg.svd(array(tensor), full_matrices)
    return _tensor(s), _tensor(u), adjoint(vh)


def eigh(tensor: Any, name: str | None = None) -> tuple[Any, Any]:
    """Return the eigenvalues and eigenvectors of symmetric matrices."""
    values, vectors = np.linalg.eigh(array(tensor))
    return _tensor(values), _tensor(vectors)


def eigvalsh(tensor: Any, name: str | None = None) -> Any:
    """Return the eigenvalues of symmetric matrices."""
    return eigh(tensor)[0]


def eig(tensor: Any, name: str | None = None) -> tuple[Any, Any]:
    """Return the complex eigenvalues and eigenvectors of matrices."""
    values, vectors = np.linalg.eig(array(tensor))
    kind = np.result_type(array(tensor), np.complex64)
    return _tensor(values, kind), _tensor(vectors, kind)


def eigvals(tensor: Any, name: str | None = None) -> Any:
    """Return the complex eigenvalues of matrices."""
    return eig(tensor)[0]


def slogdet(input: Any, name: str | None = None) -> tuple[Any, Any]:
    """Return the signs and the logarithms of the absolute values of determinants."""
    sign, log = np.linalg.slogdet(array(input))
    return tensor(sign), tensor(log)


def logdet(matrix: Any, name: str | None = None) -> Any:
    """Return the log determinants of matrices that have a `cholesky` factor."""
    return slogdet(matrix)[1]


def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Any:
    """Return the rank of each matrix."""
    return tensor(np.linalg.matrix_rank(array(a), tol), np.int32)


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Any:
    """Return sums of products, as specified by an equation.

    Parameters
    ----------
    equation : str
        The names of the axes of each array and of the result, such as "ij,jk->ik".
    *inputs : array_like
        The arrays.
    **kwargs
        Ignored; TensorFlow's options for the computation.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.einsum("ij->j", [[1, 2], [3, 4]]).numpy().tolist()
    [4, 6]
    """
    try:
        return tensor(np.einsum(equation, *(np.asarray(each) for each in in_one_type(inputs))))
    except ValueError as error:
        raise_translated(error)


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Return sums of products over axes of two arrays.

    Parameters
    ----------
    a, b : array_like
        The arrays.
    axes : int or pair
        A number n, for the last n axes of `a` and the first n of `b`; or the axes of each array.
    name : str, optional
        A label without effect.
    """
    x, y = in_one_type([a, b])
    over: Any = np.asarray(axes).tolist()
    return tensor(np.tensordot(x, y, over))


_tensor = tensor  # for functions with a parameter of the same name

__all__ = ["eye", "l2_normalize"]

__dir__ = listing(globals())
