"""tf.gfile: `tf.io.gfile` under its older names."""

from penstock.compat.listing import listing
from penstock.compat.tf.gfile import (
    GFile,
    copy,
    exists,
    glob,
    isdir,
    join,
    listdir,
    makedirs,
    mkdir,
    remove,
    rename,
    rmtree,
    stat,
    walk,
)
from penstock.compat.v1.moved import old as _old

Copy = _old(copy, "Copy")
DeleteRecursively = _old(rmtree, "DeleteRecursively")
Exists = _old(exists, "Exists")
FastGFile = Open = GFile
Glob = _old(glob, "Glob")
IsDirectory = _old(isdir, "IsDirectory")
ListDirectory = _old(listdir, "ListDirectory")
MakeDirs = _old(makedirs, "MakeDirs")
MkDir = _old(mkdir, "MkDir")
Remove = _old(remove, "Remove")
Rename = _old(rename, "Rename")
Stat = _old(stat, "Stat")
Walk = _old(walk, "Walk")

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
    "copy",
    "exists",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]

__dir__ = listing(globals())
