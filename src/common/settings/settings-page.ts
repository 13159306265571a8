import { settingsTable } from './settings.js';

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** The whole of `docs/settings.md`, generated from the table of settings so that the two always agree. */
export function settingsPage(): string {
  const rows = settingsTable.map(
    ({ env, flag, yaml, type, default: fallback, doc }) =>
      `| \`${env}\` | \`${flag}\` | \`${yaml}\` | ${cell(type)} | ${cell(fallback)} | ${cell(doc)} |`,
  );
  return `# Settings

Generated from \`src/common/settings/settings-table.ts\` and the settings that stages bring (\`plugins/*/stage.ts\`) by \`npm run gen\`.

Each setting has an environment variable, a flag of \`headgate serve\` and a key of the YAML file (\`--config\`,
\`HEADGATE_CONFIG\`, or \`./headgate.yaml\` where it exists). Flags take precedence over variables, variables over the file, and the
file over the default. An unknown setting, or a value of the wrong type, is refused with its position. Secrets have no flag, since
other users of a machine can read a command line: their flag, and the variable with \`_FILE\` after it, name a file.

| variable | flag | YAML | type | default | meaning |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}
