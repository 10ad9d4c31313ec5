"""What pickles name to run code, reach files or use the network, as scanners of pickles know it.

Grouped by what they do; a module alone stands for everything in it, so one function of it is tried.
"""

from __future__ import annotations

__all__ = ["UNSAFE_GLOBALS"]

_GROUPS = {
    "run what they are given": """
        builtins.eval builtins.exec builtins.compile builtins.breakpoint builtins.__import__ builtins.apply
        __builtin__.eval __builtin__.exec __builtin__.apply __builtins__.eval code.InteractiveInterpreter.runcode
        codeop.compile_command runpy.run_path runpy._run_code timeit.timeit trace.Trace.run trace.Trace.runctx
        cProfile.run profile.run pdb.run bdb.Bdb.run doctest.debug_script test.support.script_helper.assert_python_ok
        unittest.mock._importer types.CodeType types.FunctionType marshal.loads cloudpickle.cloudpickle._make_function
        cloudpickle.cloudpickle._builtin_type cloudpickle.cloudpickle._function_setstate
        cloudpickle.cloudpickle._make_cell cloudpickle.cloudpickle._make_empty_cell
        numpy.testing._private.utils.runstring numpy.f2py.crackfortran.getlincoef numpy.f2py.compile
        numpy.distutils.exec_command.exec_command lib2to3.pgen2.grammar.Grammar.loads
        lib2to3.pgen2.pgen.ParserGenerator.make_label idlelib.pyshell.ModifiedInterpreter.runcode
        idlelib.pyshell.ModifiedInterpreter.runcommand idlelib.run.Executive.runcode idlelib.calltip.get_entity
        idlelib.calltip.Calltip.fetch_tip idlelib.autocomplete.AutoComplete.get_entity
        idlelib.autocomplete.AutoComplete.fetch_completions idlelib.debugobj.ObjectTreeItem.SetText""",
    "reach other functions": """
        builtins.getattr builtins.setattr builtins.globals builtins.vars __builtin__.getattr operator.attrgetter
        operator.itemgetter operator.methodcaller _operator.attrgetter _operator.itemgetter _operator.methodcaller
        functools.partial functools.reduce importlib.import_module _frozen_importlib.__import__
        _frozen_importlib_external.SourceFileLoader _imp.create_dynamic pkgutil.resolve_name zipimport.zipimporter
        pydoc.locate pydoc.pipepager inspect.getattr_static gc.get_objects site.addsitedir
        cloudpickle.cloudpickle.subimport sys.exit sys.modules""",
    "start processes": """
        os.system os.popen posix.system nt.system os.execv os.spawnlp subprocess.Popen subprocess.check_output
        _posixsubprocess.fork_exec commands.getoutput pty.spawn multiprocessing.Process asyncio.create_subprocess_shell
        pexpect.run venv.create ensurepip._run_pip pip.main uuid._get_command_stdout _osx_support._read_output
        _aix_support._read_cmd_output _pyrepl.pager.pipe_pager imaplib.IMAP4_stream platform.popen webbrowser.open
        threading.Thread _thread.start_new_thread signal.signal _signal.signal atexit.register""",
    "touch files and memory": """
        builtins.open __builtin__.open io.open io.FileIO _io.FileIO _io.open shutil.rmtree shutil.copyfile
        tempfile.mkdtemp
        filecmp.cmp distutils.file_util.write_file logging.FileHandler syslog.syslog tarfile.open zipfile.ZipFile
        shelve.open sqlite3.connect _sqlite3.connect fileinput.input glob.glob linecache.getlines difflib.context_diff
        compileall.compile_dir py_compile.compile mmap.mmap ctypes.CDLL _ctypes.dlopen numpy.load numpy.fromfile
        numpy.memmap numpy.ctypeslib.load_library pandas.read_pickle""",
    "use the network": """
        socket.socket ssl.get_server_certificate http.client.HTTPSConnection httplib.HTTPSConnection
        urllib.request.urlopen urllib2.urlopen requests.api.get requests.get aiohttp.client.ClientSession
        aiohttp.request smtplib.SMTP ftplib.FTP poplib.POP3 telnetlib.Telnet nntplib.NNTP socketserver.TCPServer
        xmlrpc.client.ServerProxy select.select selectors.DefaultSelector""",
    "unpickle again": """
        pickle.loads pickle.load _pickle.loads _pickle.Unpickler dill.loads cloudpickle.loads joblib.load torch.load
        torch.serialization.load torch.storage._load_from_bytes torch.utils._config_module.ConfigModule.load_config
        torch.utils.data.datapipes.utils.decoder.basichandlers torch.hub.load torch.package.PackageImporter""",
    "compile or evaluate in PyTorch": """
        torch.compile torch.jit.load torch.jit.CompilationUnit torch.jit.unsupported_tensor_ops.execWrapper
        torch._dynamo.guards.GuardBuilder.get torch._inductor.codecache.compile_file torch.ops.load_library
        torch.fx.experimental.symbolic_shapes.ShapeEnv.evaluate_guards_expression torch.utils.collect_env.run
        torch.utils.bottleneck.__main__.run_cprofile torch.utils.bottleneck.__main__.run_autograd_prof
        torch.distributed.elastic.rendezvous.api.basichandlers torch.utils.cpp_extension.load_inline torch.from_file""",
}
_CLASSES = frozenset(
    """InteractiveInterpreter Trace Bdb Grammar ParserGenerator ModifiedInterpreter Executive Calltip AutoComplete
    ObjectTreeItem ConfigModule GuardBuilder ShapeEnv""".split()  # noqa: SIM905
)


def _split(name: str) -> tuple[str, str]:
    """Return module and name; a method's name has a dot."""
    module, _, last = name.rpartition(".")
    outer, _, owner = module.rpartition(".")
    return (outer, f"{owner}.{last}") if owner in _CLASSES else (module, last)


UNSAFE_GLOBALS = [_split(name) for names in _GROUPS.values() for name in names.split()]
