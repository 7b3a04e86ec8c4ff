"""One generated list: our search, the constraint's share of it, and the same shapes through `transformers` generate."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from models.neural.beam import search
from models.neural.constraint import Frontier, advance
from models.neural.generator import Generator
from models.neural.trie import Trie
from models.retrieval import Query
from offline.bench.timing import Timing, timed


def ours(generator: Generator, asked: list[Query], rounds: int) -> Timing:
    """Single requests, one after another."""
    return timed(lambda number: generator.generate([asked[number % len(asked)]]), rounds=rounds)


@dataclass(slots=True)
class TimedConstraint:
    """The constraint, with the time it takes added up."""

    seconds: float = 0.0

    def __call__(self, *given: Any, **named: Any) -> Frontier:
        """As `advance`."""
        started = time.perf_counter()
        found = advance(*given, **named)
        self.seconds += time.perf_counter() - started
        return found


def constraint_share(generator: Generator, asked: list[Query], rounds: int, batch: int) -> float:
    """Share of a batch's time, 0 to 1, that masks and top-k of the constraint take within it: the median of many."""
    requests, shares = [generator.request(query) for query in asked], []
    for number in range(rounds):
        some = [requests[(number * batch + i) % len(requests)] for i in range(batch)]
        constrain, started = TimedConstraint(), time.perf_counter()
        search(generator.steps(), generator.trie, some, constrain)
        shares.append(constrain.seconds / (time.perf_counter() - started))
    return statistics.median(shares)


def transformers_generate(generator: Generator, asked: list[Query], beam: int, rounds: int) -> Timing:
    """The same shapes (T5 of equal widths and depths, random weights) with `prefix_allowed_tokens_fn`."""
    import transformers

    library: Any = transformers
    trie, config = generator.trie, generator.config
    offsets = np.concatenate(([2], 2 + np.cumsum(trie.codebooks)))
    model = library.T5ForConditionalGeneration(
        library.T5Config(
            vocab_size=int(offsets[-1]),
            d_model=config.width,
            d_kv=config.head_width,
            d_ff=config.feed_forward,
            num_layers=config.encoder_layers,
            num_decoder_layers=config.decoder_layers,
            num_heads=config.heads,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=1,
        )
    ).eval()
    children = _children(trie, offsets)
    allowed: Callable[[int, torch.Tensor], list[int]] = lambda _, prefix: children[tuple(prefix[1:].tolist())]  # noqa: E731
    length = len(asked[0].history)

    def generate(number: int) -> object:
        history = torch.randint(2, int(offsets[1]), (1, length), generator=torch.Generator().manual_seed(number))
        with torch.inference_mode():
            return model.generate(
                history, num_beams=beam, num_return_sequences=beam, max_new_tokens=len(trie.codebooks),
                min_new_tokens=len(trie.codebooks), prefix_allowed_tokens_fn=allowed, do_sample=False,
                early_stopping=True,
            )  # fmt: skip

    return timed(generate, rounds=rounds, warm_up=1)


def _children(trie: Trie, offsets: np.ndarray) -> dict[tuple[int, ...], list[int]]:
    """Allowed tokens after every prefix of tokens."""
    children: dict[tuple[int, ...], list[int]] = {}
    prefixes: list[tuple[int, ...]] = [()]
    for depth, level in enumerate(trie.levels):
        longer: list[tuple[int, ...]] = []
        for node, prefix in enumerate(prefixes):
            codes = level.codes[level.starts[node] : level.starts[node + 1]] + offsets[depth]
            children[prefix] = codes.tolist()
            longer += [(*prefix, code) for code in codes.tolist()]
        prefixes = longer
    for leaf in prefixes:
        children[leaf] = [1]
    return children
