// Asks anchor-host with the command line of the Inspector, on stdio and HTTP, as a client of each age of the
// protocol, and runs the conformance tests against it: check.mjs COMMAND FOLDER-OF-PROGRAMS
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const [command, programs] = process.argv.slice(2)
const run = promisify(execFile)
const dir = mkdtempSync(join(tmpdir(), 'anchor-mcp-'))
const config = join(dir, 'anchor.yaml')
const port = 8790
const url = `http://localhost:${port}/mcp`

// These scenarios ask for tools, resources and prompts of a server made for the tests, or for what this server does
// not have: logging, completion, subscriptions, sampling, elicitation and streams that outlive a request.
const scenarios = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'prompts-list', 'dns-rebinding-protection']

let done = 0
const problems = []
function check(what, ok, seen) {
  done++
  if (!ok) problems.push(`${what}: ${JSON.stringify(seen)?.slice(0, 500)}`)
}

writeFileSync(config, `counting: {tokenizer: words}
store: {path: ${join(dir, 'store.db')}}
builds: {records: {content: true}}
retrievers: {docs: {collection: docs}}
steps: [{name: docs, use: docs}]
`)
writeFileSync(join(dir, 'deploy.md'), '# Deploy\n\nRun make deploy in the morning. The port is 8790.\n')

const host = (...args) => run(command, [...args, '--config', config], { cwd: dir, env: { HOME: dir } })
await host('ingest', 'deploy.md', '--collection', 'docs')
await host('frames', 'push', '--run', 'r1', '--kind', 'checkpoint', 'tests are green')

const service = spawn(command, ['serve', '--config', config, '--listen', `127.0.0.1:${port}`, '--admin-listen', 'none'], { cwd: dir, env: { HOME: dir }, stdio: ['ignore', 'ignore', 'inherit'] })
try {
  for (;;) { // until it answers
    if (service.exitCode !== null) throw new Error('the service has ended')
    try { await fetch(`http://localhost:${port}/livez`); break } catch { await new Promise((r) => setTimeout(r, 50)) }
  }
  const targets = { stdio: [command, 'mcp', '-e', `ANCHOR_HOST_CONFIG=${config}`, '-e', `HOME=${dir}`, '--cwd', dir], http: ['--server-url', url, '--transport', 'http'] }
  const all = []
  for (const era of ['legacy', 'modern']) for (const way of Object.keys(targets)) all.push(ask(era, way, targets[way]))
  all.push(conform())
  await Promise.all(all)
} finally {
  const end = new Promise((r) => service.once('exit', r))
  service.kill()
  await end
  rmSync(dir, { recursive: true })
}
console.log(`${done} checks with the Inspector and the conformance tests, ${problems.length} failed`)
for (const p of problems) console.error(p)
process.exit(problems.length > 0 || done < 50 ? 1 : 0)

// ask calls each method once.
async function ask(era, way, target) {
  const inspect = async (...args) => {
    try {
      const { stdout, stderr } = await run('node', [join(programs, 'mcp-inspector'), '--cli', ...target, '--protocol-era', era, ...args], { maxBuffer: 16 << 20 })
      return { ...JSON.parse(stdout), stderr }
    } catch (e) {
      return { failed: String(e.stderr || e) + String(e.stdout ?? '') }
    }
  }
  const call = (name, args) => inspect('--method', 'tools/call', '--tool-name', name, ...Object.entries(args).flatMap(([k, v]) => ['--tool-arg', `${k}=${v}`]))
  const is = (what, ok, seen) => check(`${era} ${way} ${what}`, ok, seen)

  const tools = await inspect('--method', 'tools/list', '--strict')
  is('tools/list', tools.tools?.map((t) => t.name).join() === 'build_context,explain,recall,save_fact,search,search_memory' && tools.tools.every((t) => t.outputSchema), tools)
  is('schemas are portable', tools.stderr === '', tools.stderr ?? tools)
  const built = await call('build_context', { query: 'which port' })
  is('build_context', built.structuredContent?.text.includes('8790') && built.structuredContent.build, built)
  const why = await call('explain', { build: built.structuredContent?.build })
  is('explain', why.structuredContent?.items.some((i) => i.in), why)
  const found = await call('search', { query: 'deploy port' })
  is('search', found.structuredContent?.results.length === 1, found)
  const whole = await call('recall', { handle: found.structuredContent?.results[0]?.handle })
  is('recall', whole.structuredContent?.text.includes('make deploy'), whole)
  const fact = `The train of ${era} ${way} leaves at nine.`
  const saved = await call('save_fact', { text: fact })
  is('save_fact', saved.structuredContent?.added === true, saved)
  const memory = await call('search_memory', { query: fact })
  is('search_memory', memory.structuredContent?.results.some((f) => f.text === fact), memory)
  const wrong = await call('recall', { handle: 'no-such' })
  is('an error of a tool', JSON.stringify(wrong).includes('no such handle'), wrong)
  const resources = await inspect('--method', 'resources/list')
  is('resources/list', resources.resources?.length === 4, resources)
  const templates = await inspect('--method', 'resources/templates/list')
  is('resources/templates/list', templates.resourceTemplates?.length === 4, templates)
  const read = await inspect('--method', 'resources/read', '--uri', 'anchor://frame/r1/0')
  is('resources/read', read.contents?.[0].text.includes('tests are green'), read)
  const prompts = await inspect('--method', 'prompts/list')
  is('prompts/list', prompts.prompts?.[0].name === 'resume', prompts)
  const prompt = await inspect('--method', 'prompts/get', '--prompt-name', 'resume', '--prompt-args', 'run=r1')
  is('prompts/get', JSON.stringify(prompt.messages ?? '').includes('tests are green'), prompt)
}

// conform runs the scenarios.
async function conform() {
  for (const scenario of scenarios) {
    let text
    try {
      text = (await run('node', [join(programs, 'conformance'), 'server', '--url', url, '--scenario', scenario], { cwd: dir })).stdout
    } catch (e) {
      text = String(e.stdout) + String(e.stderr)
    }
    check(`conformance ${scenario}`, /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/.test(text), text)
  }
}
