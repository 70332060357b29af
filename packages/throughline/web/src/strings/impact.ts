/** Texts about the impact of a change. */
export const IMPACT = {
  verdict: { safe: "Safe to drop", unsafe: "Not safe to drop", unknown: "Unknown" },
  unknownHint: "No use of the column was reported, but the reports are incomplete:",
  verdictLabel: "Can this column be dropped?",
} as const;
