"""The section [source], and the numbers that all sections share."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from pipelines.config.durations import Duration

__all__ = ["FILES", "GENERATORS", "Count", "Seed", "Source", "Whole"]

FILES = ("csv", "jsonl", "arff", "svmlight")

GENERATORS = ("linear", "nonlinear", "drifting", "wide", "labelled", "reviews")

Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
Seed = Annotated[int, Meta(ge=0, le=2**32 - 1)]


class Source(Struct, frozen=True, forbid_unknown_fields=True):
    """Where samples come from, and which node each belongs to."""

    kind: Annotated[
        Literal[
            "csv",
            "jsonl",
            "arff",
            "svmlight",
            "kafka",
            "linear",
            "nonlinear",
            "drifting",
            "wide",
            "labelled",
            "reviews",
        ],
        Meta(
            description="csv, jsonl, arff and svmlight (LIBSVM's format, too) read files (plain "
            "or .gz); kafka reads topics, from the brokers of [kafka]; linear and nonlinear are "
            "the two synthetic sets of the dSVOR paper, drifting moves its thresholds, wide has "
            "many features; labelled has sets of labels; reviews are texts with ranks."
        ),
    ]
    paths: Annotated[
        tuple[str, ...],
        Meta(
            description="Files, each one a partition; * and ? are expanded. Relative to the "
            "folder the command is started in."
        ),
    ] = ()
    label: Annotated[
        str,
        Meta(
            description="Field that holds the label: a rank from 1, a number, or with "
            "source.label_list a list of names."
        ),
    ] = "y"
    labels: Annotated[
        Count | tuple[str, ...],
        Meta(
            description="For learners of sets of labels: the fields that hold them, each 0 or 1; "
            "with source.label_list the names known from the beginning. The labelled generator "
            "takes their number, too."
        ),
    ] = ()
    label_xml: Annotated[
        str | None,
        Meta(description="Mulan's file of the labels' names (.xml, plain or .gz), for the above."),
    ] = None
    label_list: Annotated[
        bool,
        Meta(
            description="Whether source.label holds a list of the names of a sample's labels: an "
            "array of texts; in csv one text, split at source.label_separator."
        ),
    ] = False
    label_separator: Annotated[
        str, Meta(description="What stands between the names of a list of labels in csv.")
    ] = ";"
    new_labels: Annotated[
        Literal["grow", "ignore", "refuse"],
        Meta(
            description="A name in a list that is not in source.labels: grow (all nodes take it "
            "up), ignore it, or refuse the record."
        ),
    ] = "refuse"
    max_labels: Annotated[
        Count, Meta(description="New names in a tick at most; a record with one more is refused.")
    ] = 10_000
    features: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Fields used as features, in this order; all but labels and node if none."
        ),
    ] = None
    node: Annotated[
        Annotated[str, Meta(pattern=r"^(round-robin|hash|partition|id|key|header:.+|field:.+)$")],
        Meta(
            description="Node of a sample: round-robin (record number modulo nodes), hash (of "
            "partition and record number), partition (i-th partition to i-th node, modulo "
            "nodes), field:NAME (the node named in that field); of messages also key and "
            "header:NAME (the node named there), and id (hash of source.id)."
        ),
    ] = "round-robin"
    topics: Annotated[
        tuple[str, ...], Meta(description="Kafka topics; each partition of theirs is one here.")
    ] = ()
    format: Annotated[
        Literal["json", "msgpack", "csv"],
        Meta(
            description="What messages hold: an object of named values, or an array of the values "
            "of source.features and the label, as JSON or MessagePack, or a line of "
            "comma-separated values."
        ),
    ] = "json"
    columns: Annotated[
        tuple[str, ...] | None,
        Meta(
            description="Names of the values of a csv message, or file without header; if none, "
            "the features (or texts), the label, and the node's field."
        ),
    ] = None
    header: Annotated[
        bool, Meta(description="Whether csv files begin with the names of their columns.")
    ] = True
    separator: Annotated[
        str,
        Meta(
            description='What stands between the values of csv: "," ";" "|", or a tab ("\\t"), '
            "with which quotes are letters like others."
        ),
    ] = ","
    text: Annotated[
        tuple[str, ...],
        Meta(
            description="Fields of text, joined by a blank: the features are its words and "
            "neighbouring words, hashed into 2**source.text_bits columns. No other field is one."
        ),
    ] = ()
    text_bits: Annotated[
        Annotated[int, Meta(ge=1, le=31)],
        Meta(
            description="Texts are hashed into 2**text_bits columns; more take more memory, and "
            "let fewer words share a column."
        ),
    ] = 18
    ngrams: Annotated[
        Annotated[int, Meta(ge=1, le=8)],
        Meta(description="Neighbouring words that are hashed together: 1 up to so many."),
    ] = 2
    start: Annotated[
        str,
        Meta(
            description="Where a new job begins in its topics: earliest, latest, or a time such "
            "as 2026-01-31T12:00:00+00:00."
        ),
    ] = "earliest"
    until_end: Annotated[
        bool,
        Meta(description="Stop at the ends that the topics had when the job was first started."),
    ] = False
    on_expired: Annotated[
        Literal["stop", "earliest", "latest"],
        Meta(
            description="When the next message has been deleted by retention: stop, or go on "
            "with the earliest or the latest there is, and say how many were skipped."
        ),
    ] = "stop"
    linger: Annotated[
        Duration,
        Meta(
            description="How long an asynchronous job waits for more messages, or lines of "
            "followed files, before it learns those that are there."
        ),
    ] = Duration(0.005)
    sparse_width: Annotated[
        Annotated[int, Meta(ge=1, le=2**31)] | None,
        Meta(
            description="Records hold indices and values instead of named features (svmlight: "
            "indices from source.index_base, else from 0); the number of features."
        ),
    ] = None
    index_base: Annotated[
        Annotated[int, Meta(ge=0, le=1)], Meta(description="The first index in svmlight files.")
    ] = 1
    id: Annotated[
        Annotated[str, Meta(pattern=r"^(key|header:.+|field:.+)$")] | None,
        Meta(
            description="Samples and labels may come apart: what names a sample, in the message "
            "with its features and in the one with its label."
        ),
    ] = None
    label_wait: Annotated[
        Duration | None,
        Meta(
            description="How long a sample waits for its label (and a label for its sample), by "
            "the messages' own times; none: until source.label_limit."
        ),
    ] = None
    label_limit: Annotated[
        Count, Meta(description="Samples a node lets wait for their labels; the oldest go first.")
    ] = 10_000
    follow: Annotated[
        bool, Meta(description="Keep reading as the files grow; the job is then endless.")
    ] = False
    shuffle: Annotated[
        bool, Meta(description="Read a file's records in random order, drawn from source.seed.")
    ] = False
    split: Annotated[
        str | None,
        Meta(
            description="File of holdouts: each line the 0-based numbers of the records held "
            "back for scoring, separated by commas."
        ),
    ] = None
    split_row: Annotated[
        Whole | None, Meta(description="Which line of source.split to use, from 0.")
    ] = None
    rows: Annotated[
        Count | None, Meta(description="Samples a generator gives, in all; endless if none.")
    ] = None
    partitions: Annotated[Count, Meta(description="Partitions of a generator.")] = 1
    rows_per_tick: Annotated[
        Count,
        Meta(
            description="Records of one partition that make a tick. Nodes exchange between "
            "ticks: large ticks are faster and learn worse, since neighbours are heard less "
            "often; nodes divided by partitions (one row a node) learns best. A batch job loads "
            "all rows in one tick, whatever this says."
        ),
    ] = 1
    width: Annotated[
        Count, Meta(description="Number of features of the wide and the labelled generator.")
    ] = 200
    noise: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Noise of these two, beside a latent value of deviation 1."),
    ] = 0.1
    drift: Annotated[
        Literal["sudden", "gradual"], Meta(description="How the drifting generator drifts.")
    ] = "sudden"
    drift_every: Annotated[
        Count, Meta(description="Samples from one drift to the next, there and back again.")
    ] = 10_000
    drift_over: Annotated[Count, Meta(description="Samples that a gradual drift takes.")] = 2_000
    drift_shift: Annotated[
        float, Meta(description="How far a drift moves the thresholds between ranks.")
    ] = 0.8
    drift_sites: Annotated[
        tuple[Whole, ...],
        Meta(
            description="Partitions of the drifting generator that drift, by number from 0; all "
            'if none. With source.node = "partition" and one each these are nodes.'
        ),
    ] = ()
    seed: Annotated[Seed, Meta(description="Seed of the generator, or of source.shuffle.")] = 0

    @property
    def columns_in_all(self) -> int | None:
        """The number of features where these have numbers, not names; else None.

        >>> Source(kind="csv", text=("a",)).columns_in_all, Source(kind="csv").columns_in_all
        (262144, None)
        """
        if self.text or self.kind == "reviews":
            return 1 << self.text_bits
        return self.sparse_width

    @property
    def generated(self) -> bool:
        """Whether samples are generated rather than read."""
        return self.kind in GENERATORS

    @property
    def bounded(self) -> bool:
        """Whether the source ends by itself."""
        if self.kind == "kafka":
            return self.until_end
        return self.rows is not None if self.generated else not self.follow

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the labels known from the beginning.

        >>> Source(kind="labelled", labels=2).label_names
        ('y1', 'y2')
        """
        if isinstance(self.labels, int):
            return tuple(f"y{number + 1}" for number in range(self.labels))
        return self.labels

    @property
    def node_name(self) -> str | None:
        """The field or header that names a record's node."""
        _, colon, name = self.node.partition(":")
        return name if colon else None
