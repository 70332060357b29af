import { clsx } from "clsx";
import { Component, useEffect, useState, type ReactNode } from "react";
import { ChunkLoadError } from "./lazyView";
import { COMPONENTS } from "../strings/components";
import styles from "./message.module.css";
import controls from "./controls.module.css";
import { WAITING } from "../strings/waiting";

const FAILURE = COMPONENTS.failure;

interface Props {
  /** The address; a new address clears the error. */
  about: string;
  children: ReactNode;
}

interface State {
  about: string;
  error: Error | null;
}

/** An error boundary that shows the error and what to do. */
export class Boundary extends Component<Props, State> {
  override state: State = { about: this.props.about, error: null };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ about }: Props, state: State): State | null {
    return about === state.about ? null : { about, error: null };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <main className={styles.lost}>
        <h1>{FAILURE.view}</h1>
        {error instanceof ChunkLoadError ? <LoadFailure error={error} /> : <PageError text={FAILURE.page} error={error} />}
      </main>
    );
  }
}

function PageError({ text, error }: { text: string; error: Error }): ReactNode {
  return (
    <>
      <div className={clsx(styles.note, styles.bad)} role="alert">
        <p>{text}</p>
      </div>
      <pre className="wrap muted">{error.message}</pre>
      <p>
        <button type="button" className={controls.button} onClick={() => location.reload()}>
          {FAILURE.reload}
        </button>
      </p>
    </>
  );
}

const PAUSE_MS = 2_000;

/** A failed load of the page's code; reloads the page once the server responds. */
function LoadFailure({ error }: { error: ChunkLoadError }): ReactNode {
  const [isAway, setAway] = useState<boolean | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isUnmounted = false;
    const check = async (wasAway: boolean) => {
      const isAvailable = await fetch("/healthz").then(
        (response) => response.ok,
        () => false,
      );
      if (isUnmounted) return;
      if (isAvailable && (wasAway || !isReloaded())) {
        reloadOnce();
        return;
      }
      setAway(!isAvailable);
      if (!isAvailable) timer = setTimeout(() => void check(true), PAUSE_MS);
    };
    void check(false);
    return () => {
      isUnmounted = true;
      clearTimeout(timer);
    };
  }, []);
  if (isAway === null) return <p className="muted">{WAITING.loading}</p>;
  if (!isAway) return <PageError text={FAILURE.part} error={error} />;
  return (
    <div className={clsx(styles.note, styles.bad)} role="alert">
      <p>{FAILURE.away}</p>
    </div>
  );
}

/** Return true if this page was already reloaded; prevents an endless loop. */
function isReloaded(): boolean {
  return (history.state as { isReloaded?: boolean } | null)?.isReloaded === true;
}

function reloadOnce(): void {
  history.replaceState({ isReloaded: true }, "");
  location.reload();
}
