"""The files of one run directory, by name; keeps its directory handles open."""

from __future__ import annotations

from contextlib import suppress

from dfah_cli.errors import ArtifactError, StorageError
from dfah_cli.store import layout
from dfah_cli.store.filesystem import FileSystem
from dfah_cli.store.plan import PlanFacts, plan_facts
from dfah_cli.store.safe_io import publish, read_file


class RunFiles:
    """Owns the handle of the run directory and those of its parts, opened when first needed."""

    def __init__(self, fs: FileSystem, root: int, path: str = "the run directory") -> None:
        """path: for messages, and for `check_in_place`."""
        self.fs, self.root, self.path = fs, root, path
        self._parts: dict[str, int] = {}

    def part(self, name: str) -> int | None:
        """Handle of a subdirectory; None when it is not there (copies lose empty directories)."""
        if name not in self._parts:
            try:
                self._parts[name] = self.fs.open_dir(self.root, name)
            except FileNotFoundError:
                return None
        return self._parts[name]

    def made(self, name: str) -> int:
        """Handle of a subdirectory, made when absent (durable after `sync_dir(root)`)."""
        self.fs.make_dir(self.root, name)
        handle = self.part(name)
        assert handle is not None
        return handle

    def read(self, name: str) -> bytes | None:
        """A file of the run directory itself."""
        return read_file(self.fs, self.root, name)

    def read_in(self, part: str, name: str) -> bytes | None:
        directory = self.part(part)
        return None if directory is None else read_file(self.fs, directory, name)

    def names_in(self, part: str) -> list[str]:
        directory = self.part(part)
        return [] if directory is None else self.fs.names(directory)

    def segments(self) -> int:
        """How many segments there are. Raises: ArtifactError when one between them is missing."""
        names = [name for name in self.names_in(layout.SEGMENTS) if layout.is_segment(name)]
        for number, name in enumerate(names):
            if name != layout.segment_name(number):
                raise ArtifactError(f"segments/{layout.segment_name(number)} is missing. {layout.ADVICE}")
        return len(names)

    def facts(self) -> PlanFacts:
        """What the plan says. Raises: ArtifactError when there is no plan, or no manifest that fits it."""
        plan, manifest = self.read(layout.PLAN), self.read(layout.MANIFEST)
        if plan is None:
            raise ArtifactError(
                f"plan.json is missing. {layout.ADVICE}"
                if self.segments()
                else "no plan.json here: this is not a run directory. Give the directory of a run.",
                part=layout.PLAN,
            )
        if manifest is None:
            raise ArtifactError(f"manifest.json is missing. {layout.ADVICE}", part=layout.MANIFEST)
        return plan_facts(plan, manifest)

    def object(self, digest: str) -> bytes:
        """The bytes of an object, as they are. Raises: ArtifactError when it is missing."""
        bucket, name = digest[:2], digest[2:]
        directory = self.part(f"{layout.OBJECTS}/{bucket}") if digest.isalnum() else None
        payload = None if directory is None else read_file(self.fs, directory, name)
        if payload is None:
            raise ArtifactError(f"objects/{bucket}/{name} is missing")
        return payload

    def publish_object(self, digest: str, payload: bytes) -> None:
        """The object is durable under its digest, whoever wrote it."""
        objects = self.made(layout.OBJECTS)
        bucket, name = digest[:2], digest[2:]
        directory = self.made(f"{layout.OBJECTS}/{bucket}")
        self.fs.sync_dir(objects)
        try:
            publish(self.fs, directory, name, payload)
        except FileExistsError:
            # Left by a writer that died: the name may not be durable yet.
            self.fs.unlink(directory, name + layout.TEMPORARY)
            self.fs.sync_dir(directory)
            if read_file(self.fs, directory, name) != payload:
                raise ArtifactError(f"objects/{bucket}/{name} does not match its digest. {layout.ADVICE}") from None

    def remove_temporaries(self) -> None:
        """Removes unborn files; only the holder of the lease may."""
        parts = [*layout.DIRECTORIES, *(f"{layout.OBJECTS}/{b}" for b in self.names_in(layout.OBJECTS))]
        for directory in (self.root, *map(self.part, parts)):
            for name in [] if directory is None else self.fs.names(directory):
                if name.endswith(layout.TEMPORARY):
                    self.fs.unlink(directory or self.root, name)

    def sync_read(self) -> None:
        """Makes durable what the next reader relies on: a kill may have left the last batch in the page cache."""
        segments = self.part(layout.SEGMENTS)
        count = self.segments()
        if segments is not None and count:
            file = self.fs.open_read(segments, layout.segment_name(count - 1))
            try:
                self.fs.sync(file)
            finally:
                self.fs.close(file)
            self.fs.sync_dir(segments)
        self.fs.sync_dir(self.root)

    def check_in_place(self) -> None:
        """Nothing, when the run directory still is where it was opened. Raises: StorageError."""
        if not self.fs.is_at(self.root, self.path):
            raise StorageError(
                f"{self.path} was moved or deleted while the run was writing it: what was acknowledged went with it, "
                "nothing more is written. Move it back and run the same command again, or use a new --out."
            )

    def close(self) -> None:
        for handle in (*self._parts.values(), self.root):
            with suppress(OSError):
                self.fs.close(handle)
        self._parts.clear()
