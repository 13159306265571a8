import type { AdminTree } from '../../proto/tree.js';

/** `docs/permissions.md`. */
export function permissionsPage(tree: AdminTree): string {
  const rows = [...tree.methods.values()].map(({ name, access, bindings }) => {
    const routes = bindings.map(({ verb, path }) => `\`${verb} ${path}\``).join('<br>') || '–';
    const scopes =
      access.scopes
        .map((scope) => (scope === 'session' ? 'people who are signed in' : `\`${scope}\``))
        .join('<br>') || 'no key needed';
    const holder = access.organisationOnly ? "the organisation's keys" : '';
    return `| \`${name}\` | ${routes} | ${scopes} | ${holder} | ${access.audited ? 'yes' : ''} |`;
  });
  return `# Permissions

Generated from \`proto/headgate/admin/v1\` by \`npm run gen\`.

Who may call what, over gRPC and REST alike. A key needs one of the scopes named, and sees its own organisation alone;
a workspace's key sees its own workspace alone. What a key may not see is answered as if it did not exist. People who are
signed in may call what their roles allow ([sign-in.md](sign-in.md#what-a-session-may-do)). A method that is audited leaves
a row in the audit log, allowed or refused.

| method | REST | scope, one of | only for | audited |
| --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}
