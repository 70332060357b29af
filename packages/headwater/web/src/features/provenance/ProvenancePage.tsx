import { useMemo, useState, type ReactNode } from "react";
import { ONE_FILE, PROGRAM } from "../../api/base";
import { troubleOf, useAnswer } from "../../api/answers";
import { ask, isUnknown } from "../../api/client";
import { save } from "../../api/save";
import { go, useAddress } from "../../navigation/address";
import { Copy } from "../../components/Copy";
import { Icon } from "../../components/Icon";
import { Link } from "../../components/Link";
import { AsOf, CommandPart, Sheet } from "../../components/Sheet";
import { ErrorMessage } from "../../components/ErrorMessage";
import { impactOf, parseProvenance, provenanceOf } from "../../graph/places";
import { originTree, provenanceLine, provenanceText, type ProvenanceAnswer } from "../../graph/provenance";
import { addressOf } from "../../graph/view";
import { moment, parts, shellQuoted } from "../../graph/words";
import { RecentDatasets } from "../fallback/EmptyView";
import { OriginTree } from "./OriginTree";
import { clsx } from "clsx";
import { COMPONENTS } from "../../strings/components";
import { PROVENANCE } from "../../strings/provenance";
import styles from "./provenance.module.css";
import controls from "../../components/controls.module.css";
import sheets from "../../components/sheet.module.css";
import { Loading } from "../../components/Skeleton";

const SHOWN = 200;

/** The upstream versions, runs and commits of a dataset or one of its versions. */
export default function ProvenancePage(): ReactNode {
  const view = parseProvenance(useAddress().searchParams);
  const { node, version, at } = view;
  const answer = useAnswer("provenance", { node, version, asOf: at });
  const { data, isPlaceholderData } = answer;
  const [failure, setFailure] = useState<Error | null>(null);
  const trouble = troubleOf(answer) ?? failure;
  const id = data?.node ?? node;
  const { data: history } = useAnswer("history", data ? { node: id, asOf: at, limit: SHOWN } : null);
  const versions = useMemo(() => (history?.items ?? []).flatMap((entry) => (entry.done === "wrote" && entry.version ? [entry] : [])), [history]);
  const tree = useMemo(() => data && originTree(data), [data]);
  const title = parts(id.slice(id.lastIndexOf(":") + 1), "dataset").title;
  const command = ["headwater provenance", shellQuoted(id), version && `--version ${shellQuoted(version)}`, at && `--as-of ${at}`].filter(Boolean).join(" ");
  const saveStatement = () => {
    ask("provenance/statement", { node: id, version, asOf: at }).then(
      (statement) => save(PROVENANCE.file(title), new Blob([JSON.stringify(statement, null, 2)], { type: "application/json" })),
      setFailure,
    );
  };
  const isKnown = !version || versions.some((entry) => entry.version === version);
  return (
    <Sheet
      icon="origin"
      kind={COMPONENTS.provenance}
      name={PROVENANCE.title(title)}
      title={PROVENANCE.title(title)}
      about={data?.datasets.find((dataset) => dataset.id === id)?.namespace}
      isBusy={isPlaceholderData}
      actions={
        <>
          <Link className={controls.button} href={addressOf(id, { up: 3, at })}>
            <Icon name="pipeline" /> {COMPONENTS.graph}
          </Link>
          <Link className={controls.button} href={impactOf(id, { at })}>
            <Icon name="impact" /> {COMPONENTS.impact}
          </Link>
          {tree && <Copy text={provenanceText(tree)} label={COMPONENTS.copy.text} isWide />}
          {data && !ONE_FILE && (
            <button type="button" className={controls.button} disabled={data.runs.length === 0} onClick={saveStatement} title={PROVENANCE.aboutStatement(PROGRAM)}>
              <Icon name="save" /> {PROVENANCE.statement}
            </button>
          )}
        </>
      }
    >
      <AsOf at={at} now={provenanceOf(node, { version })} />
      {trouble ? (
        <>
          <ErrorMessage error={trouble} />
          {isUnknown(trouble) && at === null && <RecentDatasets linkTo={provenanceOf} />}
        </>
      ) : !data || !tree ? (
        <Loading />
      ) : (
        <>
          <div className={sheets.tools}>
            <label className={sheets.line}>
              <span className="muted">{PROVENANCE.version}</span>
              <select className={controls.select} aria-label={PROVENANCE.version} value={version ?? ""} onChange={(event) => go(provenanceOf(node, { at, version: event.target.value || null }))}>
                <option value="">{PROVENANCE.contents(Boolean(at))}</option>
                {!isKnown && <option value={version}>{version}</option>}
                {versions.map((entry) => (
                  <option key={entry.version} value={entry.version ?? ""}>
                    {PROVENANCE.option(entry.version, entry.at ? moment(entry.at) : "")}
                  </option>
                ))}
              </select>
            </label>
            <span className="muted">{provenanceLine(data)}</span>
            {history?.next && <span className="muted">{PROVENANCE.newest(versions.length, PROGRAM)}</span>}
          </div>
          <PersonalData about={data.personalData} />
          <OriginTree root={tree} at={at} />
          <Unknowns facts={data.unknown} />
          <CommandPart text={command} />
        </>
      )}
    </Sheet>
  );
}

/** The color of a statement on personal data; an untagged dataset has none, because it may still contain such data. */
const TONES: Record<ProvenanceAnswer["personalData"]["state"], "plain" | "bad" | "warn"> = { contained: "bad", possible: "bad", excluded: "warn", unknown: "warn", untagged: "plain" };

/** A note on personal data in the dataset. */
function PersonalData({ about: { state, message, columns } }: { about: ProvenanceAnswer["personalData"] }): ReactNode {
  const tone = TONES[state];
  return (
    <div className={clsx(styles.verdict, styles[tone])} role="note" aria-label={PROVENANCE.personalData}>
      <Icon name={tone === "plain" ? "lost" : "alert"} />
      <p>
        {message}
        {columns.length > 0 ? ": " : "."}
        {columns.map((column, place) => (
          <span key={column}>
            {place > 0 && ", "}
            <code>{column}</code>
          </span>
        ))}
      </p>
    </div>
  );
}

function Unknowns({ facts }: { facts: readonly string[] }): ReactNode {
  return (
    <section className={sheets.part} aria-labelledby="unknown">
      <h2 id="unknown">{PROVENANCE.unknown}</h2>
      {facts.length === 0 && <p className="muted">{PROVENANCE.complete}</p>}
      <ul className={styles.unknown}>
        {facts.map((fact) => (
          <li key={fact}>{fact}</li>
        ))}
      </ul>
    </section>
  );
}
