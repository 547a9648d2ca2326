"""What a job file may hold: its sections and keys, with defaults and meanings."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from anabranch.protocol import NodeId
from pipelines.config.drift import DriftSection
from pipelines.config.durations import Duration
from pipelines.config.kafka import Kafka, Sites
from pipelines.config.logs import Logs
from pipelines.config.monitor import Monitor
from pipelines.config.running import Parallel, Recovery
from pipelines.config.signal import Alarm, Signal
from pipelines.config.source import GENERATORS, Count, Seed, Source, Whole
from pipelines.config.targets import OUTPUTS, Target

__all__ = [
    "GENERATORS",
    "Evaluation",
    "Exchange",
    "Job",
    "JobSection",
    "Kafka",
    "LearnerSection",
    "Logs",
    "Network",
    "Output",
    "Parallel",
    "Recovery",
    "Sites",
    "Source",
]


class JobSection(Struct, frozen=True, forbid_unknown_fields=True):
    """The job as a whole."""

    name: Annotated[str, Meta(description="Name of the job, used for its run directory.")] = "job"
    run_dir: Annotated[
        str,
        Meta(
            description="Folder for everything the run leaves behind; {name} and {time} are "
            "replaced. A folder that holds a run is not used again without --overwrite."
        ),
    ] = "runs/{name}"
    seed: Annotated[
        Seed, Meta(description="Seed of every random draw that has no seed of its own.")
    ] = 0
    kind: Annotated[
        Literal["stream", "batch"],
        Meta(
            description="stream: each sample is predicted, scored, then learned; batch: nodes "
            "load their shards, run exchange.rounds rounds, and are scored on held-back rows."
        ),
    ] = "stream"


class Network(Struct, frozen=True, forbid_unknown_fields=True):
    """The nodes, who speaks to whom, and with what weight."""

    nodes: Annotated[
        Count | tuple[NodeId, ...],
        Meta(description="Number of nodes (named n00, n01, ...), or a list of their names."),
    ] = 20
    graph: Annotated[
        Literal["random", "complete", "ring", "path", "star", "grid", "edges"],
        Meta(description="Shape of the network; edges takes it from the file network.edges."),
    ] = "random"
    degree: Annotated[
        Annotated[float, Meta(gt=0)],
        Meta(description="Mean number of neighbours in a random graph."),
    ] = 4.0
    connectivity: Annotated[
        Annotated[float, Meta(gt=0, le=100)] | None,
        Meta(
            description="Per cent of all possible edges that a random graph has; given instead "
            "of network.degree."
        ),
    ] = None
    edges: Annotated[
        str | None,
        Meta(
            description="File with two node names a line, separated by blanks or a comma; # begins "
            "a comment where a line begins, or after a blank."
        ),
    ] = None
    weights: Annotated[
        Literal["metropolis-hastings", "metropolis", "laplacian"],
        Meta(
            description="Rule of the combination weights; metropolis is the paper's, and is "
            "refused on graphs where it does not lead to consensus."
        ),
    ] = "metropolis-hastings"
    seed: Annotated[Seed, Meta(description="Seed of a random graph.")] = 0
    control: Annotated[
        str | None,
        Meta(
            description="JSON Lines file, or kafka:TOPIC, by which nodes and edges come and go "
            "while the job runs; {name} and {run_dir} are replaced."
        ),
    ] = None

    @property
    def names(self) -> tuple[NodeId, ...]:
        """The names of all nodes, sorted.

        >>> Network(nodes=3).names
        ('n00', 'n01', 'n02')
        """
        if isinstance(self.nodes, tuple):
            return tuple(sorted(self.nodes))
        from anabranch.network import node_names

        return tuple(node_names(self.nodes))


class LearnerSection(Struct, frozen=True, forbid_unknown_fields=True):
    """The algorithm every node runs; further keys are options of that algorithm."""

    kind: Annotated[str, Meta(description="Name of the learner.")] = "dsvor"
    ranks: Annotated[
        Annotated[int, Meta(ge=2)],
        Meta(description="Number of ranks; labels are 1 to ranks."),
    ] = 2
    options: dict[str, Any] = field(default_factory=dict)
    """Every other argument of the learner's constructor, by name."""


class Exchange(Struct, frozen=True, forbid_unknown_fields=True):
    """When nodes exchange parameters, and how they keep time."""

    mode: Annotated[
        Literal["synchronous", "asynchronous"],
        Meta(
            description="synchronous: rounds in step with ticks, deterministic; asynchronous: "
            "a node never waits for another."
        ),
    ] = "synchronous"
    every: Annotated[Count, Meta(description="Rounds from one exchange to the next.")] = 1
    rounds_per_tick: Annotated[
        Count,
        Meta(
            description="Rounds from one tick of samples to the next; in those between nodes only "
            "exchange. Asynchronous: exchanges a tick at most, the later ones on news."
        ),
    ] = 1
    policy: Annotated[
        Literal["every", "event"],
        Meta(
            description="every: speak in each exchange; event: only when the parameters moved "
            "by more than exchange.tolerance since the last time."
        ),
    ] = "every"
    tolerance: Annotated[
        Annotated[float, Meta(ge=0)],
        Meta(description="Relative move that makes a node speak under exchange.policy = event."),
    ] = 0.01
    rounds: Annotated[Count, Meta(description="Rounds of a batch job.")] = 1000
    final_rounds: Annotated[
        Whole,
        Meta(
            description="Rounds of a stream job after its last tick, for nodes to agree; as "
            "many as the graph's diameter always come before them."
        ),
    ] = 0
    ticks_ahead: Annotated[
        Count,
        Meta(description="Ticks a partition may run ahead of the slowest node; bounds memory."),
    ] = 16
    stale_after: Annotated[
        Duration,
        Meta(description="Silence after which a neighbour is left out (asynchronous)."),
    ] = Duration(5)
    idle_every: Annotated[
        Duration,
        Meta(description="Time between exchanges of a node without samples (asynchronous)."),
    ] = Duration(1)
    transport: Annotated[
        Literal["local", "kafka"],
        Meta(
            description="How parameters travel: local, inside the cluster; kafka, to the nodes of "
            "other sites as well, by the topic of [sites]."
        ),
    ] = "local"


class Evaluation(Struct, frozen=True, forbid_unknown_fields=True):
    """What is scored, how often, and against what."""

    window: Annotated[
        Count, Meta(description="Newest samples of a node that the windowed scores cover.")
    ] = 1000
    every: Annotated[Count, Meta(description="Rounds from one row of scores to the next.")] = 100
    companions: Annotated[
        tuple[str, ...],
        Meta(
            description="Learners run beside the network for comparison: local (each node "
            "alone, no exchange), pooled (one node sees every sample), and baselines, which see "
            "every sample, too: of sets of labels mlknn, river-binary-relevance, "
            "river-classifier-chain; of numbers river-linear, river-bayesian-linear, sklearn-sgd; "
            "of ranks river-logistic-one-vs-rest, river-passive-aggressive, and made for batch "
            "jobs svorim, svorex."
        ),
    ] = ()
    per_label: Annotated[
        bool,
        Meta(
            description="Whether the report scores every label, and not only some of them, where "
            "samples have sets of labels."
        ),
    ] = False


class Output(Struct, frozen=True, forbid_unknown_fields=True):
    """What a run writes, and what it does with bad records."""

    predictions: Annotated[
        str | None,
        Meta(
            description="JSON Lines file, or kafka:TOPIC, for every prediction; none: not written."
        ),
    ] = None
    margins: Annotated[
        bool,
        Meta(description="Whether predictions come with their margins, one a threshold or label."),
    ] = False
    scores: Annotated[
        str | None,
        Meta(description="kafka:TOPIC for the rows of scores, beside those in the run directory."),
    ] = None
    alarms: Annotated[
        str | None,
        Meta(description="JSON Lines file, or kafka:TOPIC, for the alarms of [alarm]."),
    ] = None
    dead_letters: Annotated[
        str,
        Meta(
            description="JSON Lines file, or kafka:TOPIC, for records that could not be used, "
            "and why."
        ),
    ] = ""
    report: Annotated[bool, Meta(description="Write report.html at the end.")] = True
    models: Annotated[bool, Meta(description="Write one model file a node at the end.")] = True
    on_bad_input: Annotated[
        Literal["continue", "stop"],
        Meta(description="On a bad record: count it and continue, or stop with exit code 3."),
    ] = "continue"


class Job(Struct, frozen=True, forbid_unknown_fields=True):
    """A job, every default filled in."""

    source: Source
    job: JobSection = JobSection()
    signal: Signal = Signal()
    network: Network = Network()
    learner: LearnerSection = field(default_factory=LearnerSection)
    exchange: Exchange = Exchange()
    kafka: Kafka = Kafka()
    sites: Sites = Sites()
    evaluation: Evaluation = Evaluation()
    alarm: Alarm = Alarm()
    drift: DriftSection = DriftSection()
    output: Output = Output()
    recovery: Recovery = Recovery()
    parallel: Parallel = Parallel()
    logs: Logs = Logs()
    monitor: Monitor = Monitor()

    @property
    def hosted(self) -> tuple[NodeId, ...]:
        """The nodes that this job hosts, sorted: all, or those of its site."""
        if self.exchange.transport == "local" or self.sites.here not in self.sites.nodes:
            return self.network.names
        return tuple(sorted(self.sites.nodes[self.sites.here]))

    @property
    def uses_topics(self) -> bool:
        """Whether anything of this job comes from or goes to a topic."""
        texts = (getattr(self.output, key) for key in OUTPUTS)
        return (
            self.source.kind == "kafka"
            or self.exchange.transport == "kafka"
            or any(Target.of(text).topic for text in texts if text)
        )
