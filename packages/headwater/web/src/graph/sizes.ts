/** Sizes of a node's parts in pixels, for the layout and, as CSS variables, for the styles. */
export const SIZES = { width: 204, body: 114, search: 44, column: 28, more: 28 } as const;

/** Sizes as CSS variables, such as `--node-body`. */
export const SIZE_VARIABLES: Record<`--node-${string}`, string> = Object.fromEntries(Object.entries(SIZES).map(([name, size]) => [`--node-${name}`, `${size}px`]));
