import { clsx } from "clsx";
import { useInteractions, useListNavigation, useRole } from "@floating-ui/react";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { troubleOf, useAnswer } from "../api/answers";
import { go, useView } from "../navigation/address";
import { addressOfHit, besideHit, tagsOfHit, type Hit } from "../graph/found";
import { foundOf } from "../graph/places";
import { parts } from "../graph/words";
import { focusNode, ROOT_NODE, wantFocus } from "./focus";
import { Icon } from "./Icon";
import { Link } from "./Link";
import { PlatformIcon } from "./PlatformIcon";
import { Tags } from "./Tags";
import { ErrorMessage } from "./ErrorMessage";
import { usePopup } from "./usePopup";
import { SEARCH } from "../strings/components";
import styles from "./search.module.css";
import controls from "./controls.module.css";

const PAUSE_MS = 120;

/** Search names, columns, tags, owners, descriptions and SQL; the `/` key focuses the field. */
export function Search({ isLarge = false }: { isLarge?: boolean }): ReactNode {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const items = useRef<(HTMLElement | null)[]>([]);
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const answer = useAnswer("search", query ? { text: query, limit: 12 } : null);
  const { data, isFetching } = answer;
  const trouble = troubleOf(answer);
  const hasQuery = query !== "" && text.trim() !== "";
  const hits = hasQuery && !trouble ? (data?.items ?? []) : [];
  const isEmpty = !hasQuery || (data === undefined && trouble === null);
  const { isOpen, setOpen, control: input, setControl, setSheet, context, interactions, onBlur } = usePopup<HTMLInputElement>({ isEmpty, opensOnClick: false });
  useEffect(() => {
    const focus = (event: globalThis.KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      input?.focus();
    };
    window.addEventListener("keydown", focus);
    return () => window.removeEventListener("keydown", focus);
  }, [input]);
  const [{ node }] = useView();
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    setOpen(false);
    setText("");
    input?.blur();
    // The graph of the same node is not drawn again. Wait until the Enter key has been handled, or it would click the node.
    if (hit.id === node && document.querySelector(ROOT_NODE)) requestAnimationFrame(() => focusNode(ROOT_NODE));
    else wantFocus();
    go(addressOfHit(hit));
  };
  const { getReferenceProps, getFloatingProps, getItemProps } = useInteractions([
    ...interactions,
    useRole(context, { role: "combobox" }),
    useListNavigation(context, { listRef: items, activeIndex: at, onNavigate: (next) => next !== null && setAt(next), virtual: true, loop: true }),
  ]);
  return (
    <search className={clsx(styles.search, isLarge && styles.large)} onBlur={onBlur}>
      <Icon name="search" />
      <input
        ref={setControl}
        value={text}
        aria-label={SEARCH.label}
        placeholder={isLarge ? (window.innerWidth < SEARCH.narrow ? SEARCH.placeholderNarrow : SEARCH.placeholderLarge) : SEARCH.placeholder}
        {...getReferenceProps({
          onFocus: () => setOpen(true),
          onChange: (event) => {
            setText((event.target as HTMLInputElement).value);
            setAt(0);
            setOpen(true);
          },
          onKeyDown: (event) => event.key === "Enter" && choose(hits[at]),
        })}
      />
      <kbd aria-hidden="true">{SEARCH.key}</kbd>
      <div className={styles.hits} hidden={!isOpen} ref={setSheet}>
        {trouble && <ErrorMessage error={trouble} />}
        {hits[0]?.isFuzzy && <p className={styles.note}>{SEARCH.similar(query)}</p>}
        {hits.length === 0 && !isFetching && !trouble && !data?.uncounted && <p className={styles.note}>{SEARCH.noMatches(query)}</p>}
        {data && !trouble && data.uncounted > 0 && <p className={styles.note}>{SEARCH.uncounted(data.uncounted)}</p>}
        {data && !trouble && data.unreadTexts > 0 && <p className={styles.note}>{SEARCH.unread(data.unreadTexts)}</p>}
        <ul {...getFloatingProps({ "aria-label": SEARCH.results })}>
          {hits.map((hit, place) => {
            const { title } = parts(hit.name, hit.type === "job" ? "job" : "dataset");
            return (
              <li
                key={hit.id}
                ref={(item) => {
                  items.current[place] = item;
                }}
                {...getItemProps({ active: place === at, selected: place === at, onMouseDown: (event) => event.preventDefault(), onClick: () => choose(hit) })}
              >
                <PlatformIcon node={hit} />
                <span className={clsx(styles.hitName, "clip")} title={hit.name}>
                  {title}
                </span>
                <span className={clsx(styles.hitAbout, "clip")} title={hit.text}>
                  {besideHit(hit, hits)}
                </span>
                <Tags tags={tagsOfHit(hit).slice(0, 2)} />
              </li>
            );
          })}
        </ul>
        {data && hits.length > 0 && (
          <p className={styles.note}>
            <Link className={controls.link} href={foundOf(query)} onClickCapture={() => setOpen(false)}>
              {SEARCH.all(Object.values(data.counts).reduce((sum, count) => sum + count, 0), query, hits[0]?.isFuzzy)}
            </Link>
          </p>
        )}
      </div>
    </search>
  );
}
