"""Workers without a cluster: the same tasks, one after the other, in this process."""

import random

from perchtree import Collection
from perchtree.collection.intake import Stop
from perchtree.distributed.fitting import Asked, Fit
from perchtree.distributed.job import Input
from perchtree.distributed.worker import carry_out, check_folder
from perchtree.inputs.batches import Columns


class Here:
    """Carries out tasks when somebody waits for them, in any order."""

    n_workers = 2

    def __init__(self, seed=0):
        self._random, self.done = random.Random(seed), []

    def begin(self, job, encoder):
        check_folder(job)
        self._job, self._encoder, self._n = job, encoder, 0

    def submit(self, kind, *about):
        self._n += 1
        return self._n, kind, about

    def wait(self, handles, seconds):
        chosen = self._random.choice(handles)
        _, kind, about = chosen
        self.done.append((kind, about))
        return [(chosen, carry_out(self._job, self._encoder, kind, *about))]

    def cancel(self, handles):
        pass


def fit_here(path, work, *, workers=None, columns=None, collection=None, encoder=None, **more):
    """Fit by such workers; the collection."""
    asked = {name: more.pop(name) for name in ("block_rows", "skip_bad", "seconds") if name in more}
    shuffle = more.pop("shuffle", None)
    collection = Collection(encoder=encoder, **more) if collection is None else collection
    input = Input(str(path), columns or Columns(), None, shuffle)
    fit = Fit(collection, Asked(input, work, **asked), workers or Here())
    fit.run(Stop())
    return collection
