/** A route that shows data of logs. A new one is a row of `logRoutes`: who sees what over it is then tested with all others. */
export interface LogRoute {
  readonly name: string;
  /** Whose flags refuse it. */
  readonly view: 'logs' | 'analytics';
  /** `log`: id of the request that is asked about. */
  readonly path: (log: string) => string;
  /** Does it filter or group by metadata? */
  readonly isByMetadata?: true;
  /** Is it about one request, so that one that is not in sight is answered as a missing one? */
  readonly isOne?: true;
  /** How many requests an answer shows. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
  readonly count: (json: any) => number;
  /** All metadata that an answer shows, as JSON; absent: it never shows any. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
  readonly metadata?: (json: any) => unknown[];
}

const byTeam = encodeURIComponent('{"team":"a"}');

export const logRoutes: readonly LogRoute[] = [
  {
    name: 'the list of logs',
    view: 'logs',
    path: () => '/v1/logs',
    count: ({ data }) => data.length,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'a page of logs',
    view: 'logs',
    path: () => '/v1/logs?page_size=10&order_by=cost',
    count: ({ total }) => total,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'logs that came in',
    view: 'logs',
    path: () => '/v1/logs?after=0',
    count: ({ data }) => data.length,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'logs by metadata',
    view: 'logs',
    path: () => `/v1/logs?metadata=${byTeam}`,
    isByMetadata: true,
    count: ({ data }) => data.length,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'a log',
    view: 'logs',
    path: (log) => `/v1/logs/${log}`,
    isOne: true,
    count: () => 1,
    metadata: ({ metrics }) => [metrics.metadata],
  },
  {
    name: 'the cost of a log',
    view: 'logs',
    path: (log) => `/v1/logs/${log}/cost`,
    isOne: true,
    count: () => 1,
  },
];
