"""Texts: files as strings, strings as tokens, tokens as numbers, numbers as sequences to predict the next from."""
from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable

from ..data.dataset import Dataset
from ..exchange.construction import make
from ..tensor import Tensor


def read_text(path, encoding: str = "utf-8") -> str:
    """A file's text.

    Args:
        path: the file.
        encoding: of it.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not of this encoding; the message says in which line.

    Example:
        >>> import os, tempfile
        >>> from numtorch.datasets import read_text
        >>> path = os.path.join(tempfile.mkdtemp(), "verse.txt")
        >>> with open(path, "w") as file:
        ...     _ = file.write("Twas brillig")
        >>> read_text(path)
        'Twas brillig'
    """
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode(encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"read_text: {os.fspath(path)} is not {encoding}: line {line} has the byte "
                         f"0x{content[error.start]:02x}") from None


def characters(text: str) -> list:
    """The characters of a text.

    Args:
        text: a string.

    Example:
        >>> from numtorch.datasets import characters
        >>> characters("abc")
        ['a', 'b', 'c']
    """
    return list(text)


def words(text: str) -> list:
    """The words of a text in lower case, its other signs, and "\\n" where a line ends.

    Args:
        text: a string.

    Example:
        >>> from numtorch.datasets import words
        >>> words("Don't panic!")
        ["don't", 'panic', '!']
    """
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s]|_|\n", text.lower())


class Vocabulary:
    """Tokens and their numbers, the most frequent first.

    Args:
        tokens: a text's tokens, with all their repetitions.
        size: keep so many; all when None.
        unknown: a token that stands for all others, and has number 0; without one, others are an error.

    Raises:
        ValueError: tokens are left out, and none stands for them.

    Example:
        >>> from numtorch.datasets import Vocabulary
        >>> vocabulary = Vocabulary("abracadabra")
        >>> vocabulary.encode("cab"), vocabulary.decode([3, 0, 1])
        (tensor([3, 0, 1]), ['c', 'a', 'b'])
    """

    def __init__(self, tokens: Iterable, size: int | None = None, unknown=None) -> None:
        counts = Counter(tokens)
        first = [] if unknown is None else [unknown]
        ranked = sorted((t for t in counts if t not in first), key=lambda token: (-counts[token], token))
        if size is not None and len(first) + len(ranked) > size and not first:
            raise ValueError(f"Vocabulary: expected an unknown token, as {len(ranked)} tokens are more than {size}")
        self.tokens = (first + ranked)[:size]
        self.unknown = unknown
        self.numbers = {token: number for number, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Iterable) -> Tensor:
        """The numbers of tokens.

        Args:
            tokens: as many as there are.

        Returns:
            (N) of int64.

        Raises:
            KeyError: one is not in the vocabulary, and none stands for it.
        """
        if self.unknown is not None:
            return make([self.numbers.get(token, 0) for token in tokens])
        try:
            return make([self.numbers[token] for token in tokens])
        except KeyError as error:
            raise KeyError(f"Vocabulary: {error.args[0]!r} is not among its {len(self)} tokens") from None

    def decode(self, numbers) -> list:
        """The tokens of numbers.

        Args:
            numbers: a tensor (N) or a list.
        """
        return [self.tokens[number] for number in (numbers.tolist() if isinstance(numbers, Tensor) else numbers)]


class TextDataset(Dataset):
    """A text in pieces: example i is `length` tokens, and for each of them the one that follows.

    Args:
        text: a string, or the path of a file as `pathlib.Path`.
        length: tokens an example.
        tokenize: a function that makes tokens of a string: `characters`, `words` or another.
        vocabulary: of the tokens; made of the text when None.
        step: tokens from one example's beginning to the next one's; `length` when None.
        encoding: of the file.

    Attributes:
        ids: the whole text, (T) of int64.
        vocabulary: with `encode` and `decode`.

    Raises:
        ValueError: the text is too short for one example, or the file of another encoding.
        KeyError: a token is not in the vocabulary, and none stands for it.

    Example:
        >>> from numtorch.datasets import TextDataset
        >>> dataset = TextDataset("to be or not to be", length=5)
        >>> "".join(dataset.vocabulary.decode(dataset[0][0])), "".join(dataset.vocabulary.decode(dataset[0][1]))
        ('to be', 'o be ')
    """

    def __init__(self, text, length: int, tokenize: Callable = characters, vocabulary: Vocabulary | None = None,
                 step: int | None = None, encoding: str = "utf-8") -> None:
        of_file = isinstance(text, os.PathLike)
        tokens, place = tokenize(read_text(text, encoding) if of_file else text), f" in {os.fspath(text)}" if of_file else ""
        if len(tokens) <= length:
            raise ValueError(f"TextDataset: expected more than {length} tokens for one example and what follows, got "
                             f"{len(tokens)}{place}")
        self.vocabulary = Vocabulary(tokens) if vocabulary is None else vocabulary
        try:
            self.ids = self.vocabulary.encode(tokens)
        except KeyError as error:
            raise KeyError(f"{error.args[0]}{place}") from None
        self.length, self.step = length, length if step is None else step

    def __len__(self) -> int:
        return (len(self.ids) - self.length - 1) // self.step + 1

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(f"TextDataset: index {index} is out of range for {len(self)} examples")
        start = index % len(self) * self.step
        return self.ids[start:start + self.length], self.ids[start + 1:start + self.length + 1]

    def get_batch(self, indices: list):
        """Examples as a batch.

        Args:
            indices: their numbers.

        Returns:
            [tokens (N, length), those that follow (N, length)].
        """
        windows = self.ids.unfold(0, self.length + 1, self.step).index_select(0, make(indices))
        return [windows[:, :-1], windows[:, 1:]]
