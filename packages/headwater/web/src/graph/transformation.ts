/** Texts for the transformations of OpenLineage's columnLineage facet. */
export interface Transformation {
  type: string;
  subtype: string | null;
  description: string | null;
  isMasking: boolean;
}

const VAGUE = new Set(["DIRECT", "INDIRECT"]);

/** Format `IDENTITY, GROUP_BY` as `identity, group by`. */
export function transformationName(how: string): string {
  return how.toLowerCase().replaceAll("_", " ");
}

/** Return true if a source's value is part of the column, or if no transformation is reported. */
export function isDirect(transformations: readonly Transformation[]): boolean {
  return transformations.length === 0 || transformations.some((transformation) => transformation.type !== "INDIRECT");
}

/** The effect of a source column on the rows, by the subtype of an indirect transformation. */
const VERBS: Readonly<Record<string, string>> = { FILTER: "filters", JOIN: "joins", GROUP_BY: "groups by", SORT: "sorts by", WINDOW: "windows by", CONDITIONAL: "condition" };

/** Describe transformations, direct ones first: `aggregation, masked`, `groups by`. */
export function transformationTexts(transformations: readonly Transformation[]): string[] {
  const direct = transformations.filter((transformation) => transformation.type !== "INDIRECT");
  const decides = transformations.filter((transformation) => transformation.type === "INDIRECT");
  const name = (transformation: Transformation) => (transformation.subtype && !VAGUE.has(transformation.subtype) ? transformationName(transformation.subtype) : "");
  const words = [
    ...direct.map((transformation) => [name(transformation) || "direct", transformation.isMasking && "masked"].filter(Boolean).join(", ")),
    ...decides.map((transformation) => VERBS[transformation.subtype ?? ""] ?? (name(transformation) || "determines the rows")),
  ];
  return [...new Set(words)];
}
