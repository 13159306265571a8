export const percentile = (list: readonly number[], share: number): number =>
  [...list].sort((a, b) => a - b)[Math.ceil(share * list.length) - 1] ?? 0;
