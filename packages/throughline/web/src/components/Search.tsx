import "./search.css";
import { useEffect, useId, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { useAnswer } from "../api/answers";
import type { Answer } from "../api/client";
import { go } from "../app/address";
import { columnKey } from "../graph/lit";
import type { NodeId } from "../graph/types";
import { addressOf } from "../graph/view";
import { parts } from "../graph/words";
import { Icon } from "./Icon";

type Hit = Answer<"search">["items"][number];
const PAUSE_MS = 120;
const PLACES: Record<string, string> = { column: "column", tag: "tag", owner: "owner", description: "description", sql: "SQL" };

/** Where a hit leads: a column is shown locked in its dataset. */
function addressOfHit(hit: Hit): string {
  if (hit.matched !== "column") return addressOf(hit.id);
  return addressOf(hit.id, { columns: [hit.id as NodeId], column: columnKey(hit.id, hit.text) });
}

/** Search names, columns, tags, owners, descriptions and SQL; `/` comes here from anywhere. */
export function Search({ isLarge = false }: { isLarge?: boolean }): ReactNode {
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    const focus = (event: globalThis.KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
      if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    window.addEventListener("keydown", focus);
    return () => window.removeEventListener("keydown", focus);
  }, []);
  const { data, isFetching } = useAnswer("search", asked ? { text: asked, limit: 12 } : null);
  const hits = asked && text.trim() ? (data?.items ?? []) : [];
  const isShown = isOpen && asked !== "" && text.trim() !== "" && data !== undefined;
  const choose = (hit: Hit | undefined) => {
    if (!hit) return;
    setOpen(false);
    setText("");
    input.current?.blur();
    go(addressOfHit(hit));
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && hits.length) {
      event.preventDefault();
      setAt((at + step + hits.length) % hits.length);
    } else if (event.key === "Enter") choose(hits[at]);
    else if (event.key === "Escape") setOpen(false);
  };
  return (
    <search className={`search${isLarge ? " large" : ""}`} onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false)}>
      <Icon name="search" />
      <input
        ref={input}
        value={text}
        role="combobox"
        aria-label="Search the lineage"
        aria-expanded={isShown}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={isShown && hits[at] ? `${id}-${at}` : undefined}
        placeholder={isLarge ? "Search tables, jobs, columns, tags, owners, SQL" : "Search"}
        onFocus={() => setOpen(true)}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
          setOpen(true);
        }}
        onKeyDown={onKey}
      />
      <kbd aria-hidden="true">/</kbd>
      <div className="hits" hidden={!isShown}>
        {hits[0]?.isFuzzy && <p className="hits-note">Nothing has “{asked}” in it. These are like it:</p>}
        {hits.length === 0 && !isFetching && <p className="hits-note">Nothing is like “{asked}”. Parts of names, columns, tags, owners and SQL can be found.</p>}
        <ul id={id} role="listbox" aria-label="Found">
          {hits.map((hit, place) => {
            const { title, above } = parts(hit.name, hit.type === "job" ? "job" : "dataset");
            return (
              <li
                key={hit.id}
                id={`${id}-${place}`}
                role="option"
                aria-selected={place === at}
                onMouseEnter={() => setAt(place)}
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => choose(hit)}
              >
                <Icon name={hit.type === "job" ? "task" : "table"} />
                <span className="hit-name clip" title={hit.name}>
                  {title}
                </span>
                <span className="hit-about clip" title={hit.text}>
                  {PLACES[hit.matched] ? `${PLACES[hit.matched] ?? ""}: ${hit.text}` : above || hit.namespace}
                </span>
              </li>
            );
          })}
        </ul>
        {data?.next && hits.length > 0 && <p className="hits-note">More than {hits.length} fit; type more to narrow it down.</p>}
      </div>
    </search>
  );
}
