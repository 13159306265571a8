import { expect } from 'chai';
import { type AdminMethod, adminTree } from '../../proto/tree.js';

/** Operations of the administration API; parameters are written {}. */
const operations = `
GET,POST                 /v1/configs
GET,PUT,DELETE           /v1/configs/{}
GET                      /v1/configs/{}/versions
GET                      /v1/configs/{}/versions/{}
GET,POST                 /v1/integrations
GET,PUT,DELETE           /v1/integrations/{}
GET,PUT,DELETE           /v1/integrations/{}/models
GET,PUT                  /v1/integrations/{}/workspaces
GET,POST                 /v1/providers
GET,PUT,DELETE           /v1/providers/{}
GET,POST                 /v1/virtual-keys
GET,PUT,DELETE           /v1/virtual-keys/{}
POST                     /v1/virtual-keys/migrate
POST                     /v1/api-keys/{}/{}
GET                      /v1/api-keys
GET,PUT,DELETE           /v1/api-keys/{}
POST                     /v1/api-keys/{}/rotate
GET,POST                 /v1/admin/users
GET,PUT,DELETE           /v1/admin/users/{}
GET,POST                 /v1/admin/users/invites
GET,DELETE               /v1/admin/users/invites/{}
POST                     /v1/admin/users/invites/{}/resend
POST                     /v1/admin/users/invites/accept
POST                     /v1/admin/users/link
POST                     /v1/auth/sign-in
POST                     /v1/auth/sign-out
GET                      /v1/auth/session
GET                      /v1/auth/sessions
DELETE                   /v1/auth/sessions/{}
PUT                      /v1/auth/password
GET                      /v1/auth/oidc/start
GET                      /v1/auth/oidc/callback
GET,POST                 /v1/admin/workspaces
GET,PUT,DELETE           /v1/admin/workspaces/{}
GET,POST                 /v1/admin/workspaces/{}/users
GET,PUT,DELETE           /v1/admin/workspaces/{}/users/{}
GET                      /v1/admin/workspaces/{}/members/{}
GET,PUT                  /v1/admin/organisation
GET,PUT                  /v1/admin/organisation/defaults
GET,PUT                  /v1/admin/organisation/auth-settings
POST                     /v1/admin/organisation/auth-settings/refresh
GET,PUT                  /v1/workspace-exclusions/{}
GET,POST                 /v1/policies/usage-limits
GET,PUT,DELETE           /v1/policies/usage-limits/{}
GET                      /v1/policies/usage-limits/{}/entities
PUT                      /v1/policies/usage-limits/{}/entities/{}/reset
GET,POST                 /v1/policies/rate-limits
GET,PUT,DELETE           /v1/policies/rate-limits/{}
GET                      /v1/audit-logs
GET                      /v1/audit-logs/export
GET,POST                 /v1/collections
GET,PUT,DELETE           /v1/collections/{}
GET,POST                 /v1/labels
GET,PUT,DELETE           /v1/labels/{}
GET,POST                 /v1/guardrails
GET,PUT,DELETE           /v1/guardrails/{}
GET,POST                 /v1/deployments
GET,PUT,DELETE           /v1/deployments/{}
GET                      /v1/deployments/{}/ping
GET                      /v1/providers/models
GET                      /v1/model-configs/pricing/{}/{}
GET                      /model-configs/pricing/{}/{}
`;

const methods = [...adminTree().methods.values()];
const bound = new Set(
  methods.flatMap(({ bindings }) =>
    bindings.map(({ verb, path }) => `${verb} ${path.replace(/\{[^}]*\}/g, '{}')}`),
  ),
);
const problemsOf = (find: (method: AdminMethod) => string | false): string[] =>
  methods.map(find).filter((problem) => problem !== false);

describe('the operations of the administration plane', () => {
  for (const line of operations.trim().split('\n')) {
    const [verbs = '', path = ''] = line.split(/ +/);
    it(`have ${verbs} ${path}`, () => {
      for (const verb of verbs.split(',')) expect([...bound]).to.include(`${verb} ${path}`);
    });
  }

  it('have each workspace path without /admin too', () => {
    const admin = [...bound].filter((one) => one.includes(' /v1/admin/workspaces'));
    for (const one of admin) expect([...bound]).to.include(one.replace('/admin', ''));
  });

  /** Records of requests, which are as many as requests themselves: no change of what the gateway does. */
  const recording = new Set([
    'Feedback.CreateFeedback',
    'Feedback.UpdateFeedback',
    'Logs.CreateLogs',
    'Logs.CreateTraces',
    'Logs.ImportLogs',
  ]);

  it('are audited where they change something, and only there', () => {
    // Made of other calls, each with a row of its own.
    const composed = new Set(['Documents.ApplyDocuments']);
    // A question that needs a body: it changes nothing, though it is posted.
    const asking = new Set([
      'Requests.ExplainRequest',
      'Requests.ReplayRequests',
      'Guardrails.TestGuardrail',
      'Reconciliations.ReconcileUsage',
      'Analytics.WhatIf',
    ]);
    // Looks that are recorded too: at what was redacted, and at the file of an export. And a provider sends the browser
    // back by GET.
    const sensitive = new Set(['Logs.GetUnredactedText', 'LogExports.DownloadLogExport', 'Auth.FinishOidc']);
    const wrong = problemsOf(
      ({ name, access, bindings }) =>
        bindings.some(
          ({ verb }) =>
            (verb !== 'GET' && !asking.has(name) && !composed.has(name) && !recording.has(name)) ||
            sensitive.has(name),
        ) !== access.audited &&
        bindings.length > 0 &&
        name,
    );
    expect(wrong).to.deep.equal([]);
  });

  it('that create can be repeated safely', () => {
    const wrong = problemsOf(
      ({ method, name, request }) =>
        /^(?:Create|Add)/.test(method) &&
        !recording.has(name) &&
        request.field('request_id')?.apart !== true &&
        name,
    );
    expect(wrong).to.deep.equal([]);
  });

  it('that change or delete a record with an etag take the etag', () => {
    const nouns = methods.filter(
      ({ method, response }) => method.startsWith('Get') && response.field('etag'),
    );
    const kept = new Set(nouns.map(({ method }) => method.slice(3)));
    const wrong = problemsOf(
      ({ method, name, request }) =>
        /^(?:Update|Delete)/.test(method) &&
        kept.has(method.slice(6)) &&
        request.field('etag')?.apart !== true &&
        name,
    );
    expect(wrong).to.deep.equal([]);
  });

  it('that update a record declare what they change', () => {
    const partial = methods.filter(({ comment }) => comment.includes('Absent fields stay'));
    expect(partial).to.have.length.above(5);
    for (const { name, request } of partial) expect(request.field('update_mask')?.apart, name).to.equal(true);
  });

  it('require the parameters of their paths', () => {
    const wrong = problemsOf(({ name, request, bindings }) => {
      const places = bindings.flatMap(({ path }) =>
        [...path.matchAll(/\{([^}]*)\}/g)].map(([, place]) => place!),
      );
      return places.some((place) => request.field(place)?.rules.required !== true) && name;
    });
    expect(wrong).to.deep.equal([]);
  });
});
