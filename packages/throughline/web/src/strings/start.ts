/** Texts of the start page. */
export const START = {
  allGood: "No failures, late jobs or failed checks.",
  noneOpen: "No open problems.",
  groups: { failed: "Failed", late: "Late", quality: "Failed checks", lost: "No end event", stopped: "Stopped", decided: "Muted or acknowledged" },
  actions: (name: string) => `Mute or acknowledge ${name}`,
  acknowledge: ["Acknowledge", "until it changes"],
  mute: [
    ["Mute for a day", 1],
    ["Mute for a week", 7],
    ["Mute", null],
  ] as const,
  until: { day: (time: string) => `until ${time}`, none: "without an end" },
  note: "Note (optional)",
  reopen: "Reopen",
  reopenOf: (name: string) => `Reopen ${name}`,
  acknowledged: "acknowledged until it changes",
  mutedUntil: (time: string | null) => (time ? `muted until ${time}` : "muted without an end"),
  more: (count: number) => `Show ${count} more`,
  show: "Show",
  stopped: (jobs: string) => `${jobs} stopped running regularly.`,
  decided: (count: number) => `${count} muted or acknowledged.`,
} as const;
