import { CliError } from '../cli-error.js';
import { writeLine } from '../output/output.js';
import { portProblem, tryPort } from '../ports.js';

/** Starts the simulated provider on its own and prints how to use it. It stops by signal. */
export async function simulate(host: string, portText: string): Promise<void> {
  const port = Number(portText);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new CliError(`--port: must be a number from 0 to 65535, not ${portText}.`, 2);
  }
  const taken = port === 0 ? null : await tryPort(host, port);
  if (taken !== null) throw new CliError(portProblem(host, port, '--port', taken));
  const { faults, startSimulated } = await import('../../simulated/index.js');
  const provider = await startSimulated({ host, port });
  writeLine(greeting(provider.url, faults));
  const stop = (): void => {
    provider.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

function greeting(url: string, faults: readonly string[]): string {
  return [
    `A simulated provider is ready at ${url}: OpenAI's and Anthropic's wire under ${url}/v1, Gemini's under ${url}/v1beta, Cohere's under ${url}/v2, Azure's under ${url}/openai, Bedrock's under ${url}. Any key does, save sk-invalid…`,
    '',
    'It fails as asked, by the header x-simulate or a model sim-fault:<fault>:',
    ...wrap([...faults, 'a status from 400 to 599'].join(', '), 88).map((line) => `  ${line}`),
    'and paces its answers: chunks=<n>, delay=<ms>, slow-first-token=<ms>, slow-head=<ms>. Several with commas.',
    '',
    'Try it:',
    `  curl ${url}/v1/chat/completions \\`,
    "    -H 'content-type: application/json' -H 'authorization: Bearer any' -H 'x-simulate: 429=2' \\",
    '    -d \'{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hello"}]}\'',
  ].join('\n');
}

/** Breaks text at spaces into lines of at most `width`. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
