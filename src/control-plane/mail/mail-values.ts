/** Values as mails show them. */

/** `2026-12-01 00:00 UTC`. */
export const timeText = (ms: number): string =>
  `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
