import { Component, useEffect, useState, type ReactNode } from "react";
import { ChunkLoadError } from "./lazyView";
import styles from "./message.module.css";

interface Props {
  /** The address: what could not be shown at one is tried anew at another. */
  about: string;
  children: ReactNode;
}

interface State {
  about: string;
  error: Error | null;
}

/** What happened and what to do, in place of what could not be shown. */
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
        <h1>This view cannot be shown</h1>
        {error instanceof ChunkLoadError ? <Missing error={error} /> : <Broken text="The page has an error." error={error} />}
      </main>
    );
  }
}

function Broken({ text, error }: { text: string; error: Error }): ReactNode {
  return (
    <>
      <div className="note bad" role="alert">
        <p>{text}</p>
      </div>
      <pre className="wrap muted">{error.message}</pre>
      <p>
        <button type="button" className="button" onClick={() => location.reload()}>
          Reload
        </button>
      </p>
    </>
  );
}

const PAUSE_MS = 2_000;

/** A part of the page did not come: once the server answers the page is loaded anew, which shows the same. */
function Missing({ error }: { error: ChunkLoadError }): ReactNode {
  const [isAway, setAway] = useState<boolean | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const ask = async (wasAway: boolean) => {
      const isThere = await fetch("/healthz").then(
        (answer) => answer.ok,
        () => false,
      );
      if (isGone) return;
      if (isThere && (wasAway || !isAnew())) {
        loadAnew();
        return;
      }
      setAway(!isThere);
      if (!isThere) timer = setTimeout(() => void ask(true), PAUSE_MS);
    };
    void ask(false);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, []);
  if (isAway === null) return <p className="muted">Loading …</p>;
  if (!isAway) return <Broken text="A part of the page could not be loaded." error={error} />;
  return (
    <div className="note bad" role="alert">
      <p>The server does not respond. This view opens automatically when it does.</p>
    </div>
  );
}

/** Whether the page was loaded anew here already: once may help, twice would be for ever. */
function isAnew(): boolean {
  return (history.state as { isAnew?: boolean } | null)?.isAnew === true;
}

function loadAnew(): void {
  history.replaceState({ isAnew: true }, "");
  location.reload();
}
