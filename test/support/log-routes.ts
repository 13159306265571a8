/** A route that shows data of logs. A new one is a row of `logRoutes`: who sees what over it is then tested with all others. */
export interface LogRoute {
  readonly name: string;
  /** The method of the administration. */
  readonly method: string;
  /** It is sent by POST; absent: GET. */
  readonly body?: object;
  /** Whose flags refuse it. */
  readonly view: 'logs' | 'analytics';
  /** `log`: id of the request that is asked about. */
  readonly path: (log: string) => string;
  /** Does it filter or group by metadata? */
  readonly isByMetadata?: true;
  /** Is it about one request, so that one that is not in sight is answered as a missing one? */
  readonly isOne?: true;
  /** Does it show nothing, rather than some, to those who see the requests of their own keys alone? */
  readonly isAllOrNone?: true;
  /** How many requests an answer shows. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
  readonly count: (json: any) => number;
  /** All metadata that an answer shows, as JSON; absent: it never shows any. */
  // biome-ignore lint/suspicious/noExplicitAny: JSON of many shapes.
  readonly metadata?: (json: any) => unknown[];
}

const byTeam = encodeURIComponent('{"team":"a"}');

const range = 'time_of_generation_min=2020-01-01T00:00:00Z&time_of_generation_max=2099-01-01T00:00:00Z';

/** One row for each graph: all are made by one function, but each has a method of its own. */
const graphs = {
  ...{ GraphRequests: 'requests', GraphCost: 'cost', GraphLatency: 'latency', GraphTtft: 'ttft' },
  ...{ GraphTokens: 'tokens', GraphUsers: 'users', GraphUsersRequests: 'users/requests' },
  ...{ GraphErrors: 'errors', GraphErrorsRate: 'errors/rate', GraphErrorsStacks: 'errors/stacks' },
  ...{ GraphErrorsStatusCodes: 'errors/status-codes', GraphRequestsRescued: 'requests/rescued' },
  ...{ GraphCacheHitRate: 'cache/hit-rate', GraphCacheLatency: 'cache/latency' },
  ...{ GraphFeedbacks: 'feedbacks', GraphFeedbacksScores: 'feedbacks/scores' },
  ...{ GraphFeedbacksWeighted: 'feedbacks/weighted', GraphFeedbacksAiModels: 'feedbacks/ai-models' },
};

const analyticsRoute = (method: string, path: string, more: Partial<LogRoute> = {}): LogRoute => ({
  ...{ name: path.replace('/v1/', ''), method: `Analytics.${method}`, view: 'analytics' },
  path: () => `${path}?${range}`,
  // The analytics of the test answer with the number of requests in sight, wherever a number is wanted.
  count: (json) => json.asked,
  ...more,
});

const analyticsRoutes: readonly LogRoute[] = [
  ...Object.entries(graphs).map(([method, path]) => analyticsRoute(method, `/v1/analytics/graphs/${path}`)),
  analyticsRoute('GraphRequests', '/v1/analytics/graphs/requests', {
    name: 'a graph by metadata',
    path: () => `/v1/analytics/graphs/requests?${range}&metadata=${byTeam}`,
    isByMetadata: true,
  }),
  analyticsRoute('SummarizeCache', '/v1/analytics/summary/cache'),
  ...['analytics', 'logs'].flatMap((under) => [
    analyticsRoute('GroupUsers', `/v1/${under}/groups/users`),
    analyticsRoute('GroupAiModels', `/v1/${under}/groups/ai-models`),
    analyticsRoute('GroupWorkspaces', `/v1/${under}/groups/workspaces`),
    analyticsRoute('GroupMetadata', `/v1/${under}/groups/metadata/team`, { isByMetadata: true }),
    analyticsRoute('GroupBy', `/v1/${under}/groups/model`),
    analyticsRoute('ListMetadataValues', `/v1/${under}/metadata/team`, { isByMetadata: true }),
  ]),
  analyticsRoute('WhatIf', '/v1/analytics/what-if', {
    path: () => '/v1/analytics/what-if',
    body: {
      filters: {
        ...{ time_of_generation_min: '2020-01-01T00:00:00Z', workspace_slug: 'default' },
        time_of_generation_max: '2099-01-01T00:00:00Z',
      },
      replace: [{ from: 'openai__gpt-4o', to: 'openai__gpt-4o-mini' }],
    },
  }),
  analyticsRoute('ListAnomalies', '/v1/analytics/anomalies', {
    path: () => '/v1/analytics/anomalies',
    isAllOrNone: true,
    count: ({ total }) => total,
  }),
];

export const logRoutes: readonly LogRoute[] = [
  {
    name: 'the list of logs',
    method: 'Logs.ListLogs',
    view: 'logs',
    path: () => '/v1/logs',
    count: ({ data }) => data.length,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'a page of logs',
    method: 'Logs.ListLogs',
    view: 'logs',
    path: () => '/v1/logs?page_size=10&order_by=cost',
    count: ({ total }) => total,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'logs that came in',
    method: 'Logs.ListLogs',
    view: 'logs',
    path: () => '/v1/logs?after=0',
    count: ({ data }) => data.length,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'logs by metadata',
    method: 'Logs.ListLogs',
    view: 'logs',
    path: () => `/v1/logs?metadata=${byTeam}`,
    isByMetadata: true,
    count: ({ data }) => data.length,
    metadata: ({ data }) => data.map((row: { metadata: unknown }) => row.metadata),
  },
  {
    name: 'a log',
    method: 'Logs.GetLog',
    view: 'logs',
    path: (log) => `/v1/logs/${log}`,
    isOne: true,
    count: () => 1,
    metadata: ({ metrics }) => [metrics.metadata],
  },
  {
    name: 'the cost of a log',
    method: 'Logs.ExplainCost',
    view: 'logs',
    path: (log) => `/v1/logs/${log}/cost`,
    isOne: true,
    count: () => 1,
  },
  {
    name: 'an export',
    method: 'LogExports.CreateLogExport',
    view: 'logs',
    path: () => '/v1/logs/exports',
    body: { workspace_id: 'default', filters: {}, requested_data: ['id'] },
    count: ({ total }) => total,
  },
  {
    name: 'an export by metadata',
    method: 'LogExports.CreateLogExport',
    view: 'logs',
    path: () => '/v1/logs/exports',
    body: { workspace_id: 'default', filters: { metadata: { team: 'a' } }, requested_data: ['id'] },
    isByMetadata: true,
    count: ({ total }) => total,
  },
  {
    name: 'a replay',
    method: 'Requests.ReplayRequests',
    view: 'logs',
    path: () => '/v1/requests/replay',
    body: { workspace_id: 'default', config: { provider: 'openai' } },
    count: ({ requests }) => requests,
    metadata: ({ replayed }) => replayed,
  },
  ...analyticsRoutes,
];

/** Methods of the same services without a row, and why. */
export const otherLogMethods: Readonly<Record<string, string>> = {
  'Logs.GetUnredactedText':
    'keys of the organisation alone; who sees a log is asked as for the log (guardrails.test.ts)',
  'Logs.CreateLogs': 'takes requests, shows none',
  'Logs.CreateTraces': 'takes requests, shows none',
  'Logs.ImportLogs': 'takes requests, shows none',
  'LogExports.ListLogExports': 'of who sees own requests alone: own exports (log-exports.test.ts)',
  'LogExports.GetLogExport': 'as the list',
  'LogExports.UpdateLogExport': 'checked as a new one (log-exports.test.ts)',
  'LogExports.StartLogExport': 'checked as a new one (log-exports.test.ts)',
  'LogExports.CancelLogExport': 'shows no request',
  'LogExports.DownloadLogExport': 'by the sight of who started it (log-exports.test.ts)',
  'LogExports.ReadLogExportFile': 'by a signed address (log-exports.test.ts)',
  'LogExports.GetFieldRestrictions': 'names of fields',
  'Requests.ExplainRequest': 'of a request that is not logged',
};
