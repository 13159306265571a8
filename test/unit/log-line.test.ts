import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import pino from 'pino';
import { readableLine } from '../../src/process/log/log-line.js';
import { loadedFile, loading } from '../support/loading.js';

/** The line that is shown for a line of the log, without colours. */
function shown(write: (log: pino.Logger) => void): string {
  let line = '';
  const log = pino(
    { base: { worker: 1 } },
    {
      write(text) {
        line = readableLine(text);
      },
    },
  );
  write(log);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours
  return line.replace(/\u001b\[\d+m/g, '');
}

describe('a line of the log at a terminal', () => {
  it('has time, level and message before the other fields', () => {
    const line = shown((log) =>
      log.warn({ status: 502, path: '/v1/x', why: 'two words' }, 'upstream failed'),
    );
    expect(line).to.match(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}upstream failed {2}worker=1 status=502 path=\/v1\/x why="two words"\n$/,
    );
  });

  it('is one line without control characters, whatever a caller has put into it', () => {
    const line = shown((log) =>
      log.info({ path: '/\u001b[2J\r\nx', 'na\u001bme': { deep: '\u202eabc\n' } }, 'a\nb\u0007'),
    );
    expect(line.endsWith('\n')).to.equal(true);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
    expect(line.slice(0, -1)).to.not.match(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(line).to.include('a\\nb\\u0007').and.include('u001b');
  });

  it('shows of an error its message and the place that threw it', () => {
    const line = shown((log) => log.error({ err: new TypeError('no licence') }, 'failed'));
    expect(line).to.match(
      /ERROR failed {2}worker=1 err="TypeError: no licence \(.*log-line\.test\.[jt]s:\d+:\d+\)"\n$/,
    );
  });

  it('is bounded for each value, and what is not JSON is shown as it is', () => {
    expect(shown((log) => log.info({ long: 'x'.repeat(5000) }, 'm')).length).to.be.below(400);
    expect(readableLine('not json\u001b\n')).to.equal('not json\\u001b\n');
  });
});

describe('the format of the log', () => {
  const code = (format: string): string =>
    `import { openLog } from '${loadedFile('src/process/log/log.ts')}';
     openLog({ level: 'info', format: '${format}' }, {}).log.info({ a: 1 }, 'hello');`;
  const run = (format: string, atTerminal: boolean): string => {
    const node = [process.execPath, ...loading, '--input-type=module', '-e', code(format)];
    const quoted = node.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const [command, ...args] = atTerminal ? ['script', '-qec', quoted, '/dev/null'] : node;
    return spawnSync(command!, args, { encoding: 'utf8' }).stdout;
  };

  it('is JSON in a pipe and readable at a terminal, unless log_format is set', function () {
    this.timeout(20_000);
    expect(JSON.parse(run('auto', false))).to.include({ msg: 'hello', a: 1 });
    expect(run('pretty', false)).to.match(/INFO {2}hello .*a=1/);
    if (spawnSync('script', ['--version']).status !== 0) return;
    expect(run('auto', true)).to.match(/INFO {2}hello .*a=1/);
    expect(JSON.parse(run('json', true))).to.include({ msg: 'hello' });
  });
});
