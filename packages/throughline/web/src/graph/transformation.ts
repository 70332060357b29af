/** Texts for the transformations of OpenLineage's columnLineage facet. */
export interface Transformation {
  type: string;
  subtype: string | null;
  description: string | null;
  isMasking: boolean;
}

const VAGUE = new Set(["DIRECT", "INDIRECT"]);

/** `IDENTITY, GROUP_BY` as people say it: identity, group by. */
export function said(how: string): string {
  return how.toLowerCase().replaceAll("_", " ");
}

/** Whether a source's value is part of the column; true without a reported transformation. */
export function isDirect(transformations: readonly Transformation[]): boolean {
  return transformations.length === 0 || transformations.some((each) => each.type !== "INDIRECT");
}

/** Transformations as texts, direct ones first: `aggregation, masked`, `decides by filter`. */
export function waysOf(transformations: readonly Transformation[]): string[] {
  const direct = transformations.filter((each) => each.type !== "INDIRECT");
  const decides = transformations.filter((each) => each.type === "INDIRECT");
  const name = (each: Transformation) => (each.subtype && !VAGUE.has(each.subtype) ? said(each.subtype) : "");
  const words = [
    ...direct.map((each) => [name(each) || "direct", each.isMasking && "masked"].filter(Boolean).join(", ")),
    ...decides.map((each) => (name(each) ? `decides by ${name(each)}` : "decides which rows there are")),
  ];
  return [...new Set(words)];
}
