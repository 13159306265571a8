/** When the oldest and the newest request of an organisation came, in Unix milliseconds. */
export interface OrganisationTimes {
  readonly org: string;
  readonly first: number;
  readonly last: number;
}

const of = (which: 'min' | 'max'): string =>
  `(SELECT ${which}(at) FROM exchanges WHERE exchanges.org = found.org)`;

/** In either database, by the index over organisations and times. */
export const selectTimes = `
  WITH RECURSIVE found(org) AS (SELECT min(org) FROM exchanges
    UNION ALL SELECT (SELECT min(org) FROM exchanges WHERE org > found.org) FROM found WHERE found.org IS NOT NULL)
  SELECT org, ${of('min')} AS first, ${of('max')} AS last FROM found WHERE org IS NOT NULL`;
