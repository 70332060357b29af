"""Results of searches, and lists of datasets, jobs, owners and tags."""

from __future__ import annotations

from typing import Generic

from headwater.datasets.models import Removal
from headwater.nodes.models import NodeRow
from headwater.query.models import Answer, FacetedPage, Facets, Item, NodeRef
from headwater.runs.models import RunSummary


class ListPage(FacetedPage[Item], Generic[Item]):
    """One page of the list of all jobs or datasets."""

    uncounted: int
    """Number of nodes whose filter values and times are not known yet, because the server started
    a short time ago. They are missing from `facets`, from filtered lists and their `total`, and
    from lists by time. Each query determines more of them, as does the server in the background."""


class ListedDataset(NodeRow):
    """A dataset in a list."""

    jobOwners: list[str]
    """The owners of the jobs that write it."""
    writtenAt: str | None
    """The time of its last write; null if no write was reported."""


class ListedJob(NodeRow):
    """A job in a list, with its newest run."""

    run: RunSummary | None


class NodeGroup(Answer):
    """An owner or a tag, with the number of datasets and jobs that have it."""

    value: str
    """Empty for datasets and jobs without an owner or a tag."""
    datasets: int
    jobs: int


class SearchHit(NodeRow):
    """A node that matches a search."""

    activeAt: str | None
    """The last write of a dataset, or the start of the newest run of a job."""
    matched: str
    """The kind of text that matched: name, column, tag, owner, description, sql or error; or run or
    version for an id."""
    text: str
    """The text that matched, shortened."""
    isFuzzy: bool
    """True if the text is only similar."""


class SearchCounts(Answer):
    """Number of matching nodes, by what matched."""

    name: int
    column: int
    tag: int
    owner: int
    description: int
    sql: int
    error: int
    run: int
    version: int


class SearchAnswer(Answer):
    """One page of search results."""

    items: list[SearchHit]
    next: str | None
    counts: SearchCounts
    unreadTexts: int
    """Number of jobs whose SQL text was not read yet, as after a server with a large store has
    started. Columns that only these texts name are missing; each search reads some of them."""
    uncounted: int
    """Number of nodes that were only searched by name, because the server with a large store
    started a short time ago. Each search indexes some of them, as does the server in the
    background. Meanwhile, similar names are not suggested."""
    total: int | None
    facets: Facets | None
    """Null, like `total`, if they were not requested."""


class NewestDataset(NodeRef):
    """A recently written dataset that was not dropped or renamed since."""

    kind: str
    writtenAt: str | None
    removal: Removal | None
    """Only for a dataset that was emptied since."""


class NewestAnswer(Answer):
    """The datasets written last, newest first."""

    items: list[NewestDataset]


class DatasetFreshness(ListedDataset):
    """A dataset with the time at which it should be written next."""

    everySeconds: int | None
    """Median interval of its writes; null if there is no evidence of a schedule."""
    dueAt: str | None
    """The last scheduled write plus the interval; in the past if it is overdue or has stopped."""
    isOverdue: bool
    """True if it is past its due time and has not stopped; it may not be late yet."""
    isSource: bool
    """True if no job was reported to write it, so that its age is unknown."""
    risks: list[NodeRef]
    """Failed jobs and datasets with failed checks upstream that block it, or will once it is due.

    Empty also if no lineage was reported.
    """


class FreshnessCounts(Answer):
    """Number of datasets before `due` and the filters; a dataset may be in several."""

    scheduled: int
    """With evidence of a schedule."""
    unscheduled: int
    """Written, without such evidence."""
    sources: int
    late: int
    day: int
    """Overdue, or due within 24 hours."""
    risk: int
    """Datasets counted in `day` that have `risks`."""


class FreshnessAnswer(Answer):
    """One page of datasets with their due times."""

    items: list[DatasetFreshness]
    next: str | None
    total: int
    facets: Facets
    counts: FreshnessCounts
    uncounted: int
    """Number of datasets that are missing in this answer, because the server with a large store
    started a short time ago. Each query determines more of them."""
