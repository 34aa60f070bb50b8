"""Parses the program and the stubs, and looks up the names that the program uses.

This stands in for a compiler where there is none: it finds broken syntax, and names that
neither the stubs nor the program declare. It knows nothing of types.
"""

import re
import sys
from pathlib import Path

import tree_sitter_c_sharp
from tree_sitter import Language, Parser

# What the program uses of .NET, of Grpc.Net.Client and of its companions.
LIBRARY = """
AddRange AddressFamily CallInvoker Cancel CancelKeyPress Cancelled CertificateChainPolicy Clear Client ConnectAsync
ConnectCallback Console ConsoleCancelEventHandler ContainsKey CopyFrom Count CreateCallInvoker Cryptography CultureInfo CustomRootTrust
CustomTrustStore Dequeue Dictionary Dispose DisposeHttpClient Encoding ErrorInfo Exception File ForAddress FromMinutes
FormattableString FromSeconds FromTimeSpan GetBytes GetDetail GetRpcStatus GetString GetValueOrDefault Globalization
GrpcChannel GrpcChannelOptions Guid HttpHandler IEnumerable IPAddress ImportFromPemFile In Intercept
Interceptors Invariant InvariantCulture IsLoopback Json LastIndexOf Math Max ReadAllText Trim TryParse
JsonDocument List Net NewGuid NoCheck OutputEncoding Parse Peek ProtocolType Queue ReadAllAsync ReadAllBytes ReadToEnd
ResponseStream RetryInfo RevocationMode RootElement Rpc RpcException Security Select SocketType Sockets SslOptions
StartsWith Status StatusCode StringBuilder Task TimeSpan ToArray ToBase64String ToList ToTimeSpan Token TotalSeconds
TrustMode TryGetProperty TryGetValue UTF8 Unix UtcNow Write WriteAllBytes WriteLine X509Certificates X509ChainPolicy
X509ChainTrustMode X509RevocationMode
""".split()

parser = Parser(Language(tree_sitter_c_sharp.language()))
problems = []


def names(path: Path) -> list[tuple[str, int]]:
    """All names in a file that begin with a capital, as everything public does."""
    # The grammar has no conditions in a list of base types, which the stubs have.
    source = re.sub(rb"(?m)^ *#.*$", b"", path.read_bytes())
    found, todo = [], [parser.parse(source).root_node]
    while todo:
        node = todo.pop()
        if node.type == "ERROR" or node.is_missing:
            problems.append(f"{path}:{node.start_point.row + 1}: syntax")
        if node.type == "identifier" and node.text[:1].isupper():
            found.append((node.text.decode(), node.start_point.row + 1))
        todo += node.children
    return found


def main():
    here = Path(__file__).parent.parent
    stubs = sorted(here.glob("obj/stubs/*.g.cs"))
    declared = {name for path in stubs for name, _ in names(path)} | set(LIBRARY)
    program = {path: names(path) for path in sorted(here.glob("*.cs"))}
    for path in program:
        text = path.read_text(encoding="utf-8")
        declared |= set(re.findall(r"\b(?:class|namespace) (?:\w+\.)*(\w+)", text))
        declared |= set(re.findall(r"\b[\w<>?]+ ([A-Z]\w*)(?=\(| \{ get|;| =)", text))
    for path, used in program.items():
        problems.extend(f"{path}:{row}: no {name} in the stubs" for name, row in used if name not in declared)
    if not stubs or not program:
        problems.append("there are no files")
    sys.exit("\n".join(problems) or 0)


main()
