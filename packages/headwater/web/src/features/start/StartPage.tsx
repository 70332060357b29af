import { clsx } from "clsx";
import { lazy, Suspense, type ReactNode } from "react";
import { IS_STATIC, ONE_FILE } from "../../api/base";
import { troubleOf, useAnswer } from "../../api/answers";
import { Link } from "../../components/Link";
import { useNow } from "../../components/now";
import { Search } from "../../components/Search";
import { Skeleton } from "../../components/Skeleton";
import { ErrorMessage } from "../../components/ErrorMessage";
import { beginOf, HOUR, yesterday } from "../../graph/timeline";
import { addressOf } from "../../graph/view";
import { plural } from "../../graph/words";
import { START } from "../../strings/start";
import { Empty } from "./Empty";
import { FreshnessStrip } from "./FreshnessStrip";
import { Pipelines, RunGrid } from "./Pipelines";
import { StartProblems } from "./StartProblems";
import styles from "./start.module.css";
import controls from "../../components/controls.module.css";

/** The map of a large store. If its code cannot be loaded, only the map is missing, not the search. */
const StartMap = lazy(() => import("../map/StartMap").catch(() => ({ default: () => null })));
/** Number of nodes above which the map is the first picture. */
const LARGE = 300;

/** Search, pipelines, problems, freshness and newest runs. */
export function StartPage(): ReactNode {
  const now = useNow(HOUR);
  const answer = useAnswer("health", {});
  const { data: health } = answer;
  const trouble = troubleOf(answer);
  const counts = health?.counts;
  const isEmpty = counts && counts.jobs + counts.datasets === 0;
  return (
    <main className={styles.start}>
      <div className={styles.head}>
        <h1 className="hidden">{START.heading}</h1>
        <p className={styles.about}>{START.description}</p>
        <Search isLarge />
        {counts && !isEmpty && (
          <p className="muted">
            <Link className={controls.link} href="/datasets">
              {plural(counts.datasets, "dataset")}
            </Link>
            ,{" "}
            <Link className={controls.link} href="/jobs">
              {plural(counts.jobs, "job")}
            </Link>
            ,{" "}
            <Link className={controls.link} href="/runs">
              {plural(counts.runs, "run")}
            </Link>
            {" · "}
            <Link className={controls.link} href={addressOf("", { from: beginOf("week", now) })}>
              {START.lastWeek}
            </Link>
            {" · "}
            <Link className={controls.link} href={addressOf("", { from: yesterday(now) })}>
              {START.yesterday}
            </Link>
            {!ONE_FILE && (
              <>
                {" · "}
                <Link className={controls.link} href="/map">
                  {START.map}
                </Link>
              </>
            )}
            {" · "}
            <Link className={controls.link} href="/completeness">
              {START.incomplete}
            </Link>
          </p>
        )}
      </div>
      {trouble && <ErrorMessage error={trouble} />}
      {!health && !trouble && <Skeleton of="cards" />}
      {isEmpty && <Empty />}
      {health && !isEmpty && (
        <div className={styles.columns}>
          {counts && counts.jobs + counts.datasets > LARGE && !ONE_FILE && (
            <div className={styles.map}>
              <Suspense fallback={null}>
                <StartMap />
              </Suspense>
            </div>
          )}
          <div className={styles.map}>
            <Pipelines />
          </div>
          <div className={styles.side}>
            <StartProblems />
          </div>
          <div className={styles.main}>
            <FreshnessStrip />
            <RunGrid />
          </div>
        </div>
      )}
      {health && !isEmpty && !IS_STATIC && (
        <p className={clsx(styles.foot, "muted")}>
          {START.sample[0]}
          <a className={controls.link} href="/sample/">
            {START.sample[1]}
          </a>
          {START.sample[2]}
        </p>
      )}
    </main>
  );
}
