"""TensorFlow's operators that touch files, processes or the network.

From the 1910 operators that TensorFlow 2.21 registers: all with an argument or attribute for a file, a folder, an
address or serialized code.
``tests/consent`` compares the table with the installed TensorFlow.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["EFFECTS", "FROM_ASSETS", "RESTORES", "SAVES", "effect_of", "named_in"]

_TABLE = {
    "reads files": """
        ReadFile MatchingFiles WholeFileReader WholeFileReaderV2 TextLineReader TextLineReaderV2 FixedLengthRecordReader
        FixedLengthRecordReaderV2 TFRecordReader TFRecordReaderV2 LMDBReader RecordInput TextLineDataset
        FixedLengthRecordDataset FixedLengthRecordDatasetV2 TFRecordDataset TFRecordDatasetV2 CSVDataset CSVDatasetV2
        ExperimentalCSVDataset LMDBDataset ExperimentalLMDBDataset SqlDataset ExperimentalSqlDataset
        MatchingFilesDataset ExperimentalMatchingFilesDataset LoadDataset SnapshotChunkDataset SnapshotDatasetReader
        SnapshotNestedDatasetReader ListSnapshotChunksDataset InitializeTableFromTextFile InitializeTableFromTextFileV2
        LoadAndRemapMatrix GenerateVocabRemapping Skipgram Restore RestoreV2 RestoreSlice DTensorRestoreV2
        ImmutableConst FixedUnigramCandidateSampler DecodeProtoV2 EncodeProto""",
    "writes files": """
        WriteFile Save SaveV2 SaveSlices MergeV2Checkpoints SaveDataset SaveDatasetV2 CacheDataset CacheDatasetV2
        SnapshotDataset SnapshotDatasetV2 DatasetToTFRecord ExperimentalDatasetToTFRecord CreateSummaryFileWriter
        CreateSummaryDbWriter DumpTensor CalibrationStatisticsSaver DebugIdentity DebugIdentityV2 DebugIdentityV3
        DebugNanCount DebugNumericSummary PrintV2""",
    "runs other code": """
        PyFunc PyFuncStateless EagerPyFunc DatasetFromGraph DeserializeIterator RemoteCall XlaCustomCall XlaCustomCallV2
        FileSystemSetConfiguration""",
    "ends the process": "Abort",
    "uses the network": """
        RpcClient RpcServer RpcServerStart RpcServerRegister RpcCall RpcCheckStatus RpcGetValue DistributedSave
        DataServiceDataset DataServiceDatasetV2 DataServiceDatasetV3 DataServiceDatasetV4 RegisterDataset
        RegisterDatasetV2""",
}
EFFECTS = {operator: effect for effect, operators in _TABLE.items() for operator in operators.split()}

SAVES = frozenset(("Save", "SaveV2", "SaveSlices", "MergeV2Checkpoints"))
"""Stand in every SavedModel, in the part that saves its variables, which is never run here."""
RESTORES = frozenset(("Restore", "RestoreV2", "RestoreSlice"))
"""Stand in every SavedModel, in the part that loads its variables."""
FROM_ASSETS = frozenset(("InitializeTableFromTextFile", "InitializeTableFromTextFileV2"))
"""May read a model's own assets."""
_IN_ITSELF = (b"", b"local://")
"""Where the definitions of protocol buffers are, if not in a file."""
_FLEX = b"Flex"
# A name's length stands before it and is never a letter; what follows may be: fields of any number are skipped.
_NAMED = re.compile(rb"(?<![A-Za-z0-9])(?:Flex)?(%b)" % b"|".join(sorted(map(str.encode, EFFECTS), reverse=True)))


def effect_of(node: Any) -> str:
    """Return what a NodeDef does to files, processes or the network; empty for one that only computes."""
    if node.op == "PrintV2" and not node.attr["output_stream"].s.startswith(b"file://"):
        return ""
    if node.op == "FixedUnigramCandidateSampler" and not node.attr["vocab_file"].s:
        return ""
    if node.op in ("DecodeProtoV2", "EncodeProto"):
        source = node.attr["descriptor_source"].s
        return "" if source in _IN_ITSELF or source.startswith(b"bytes://") else EFFECTS[node.op]
    return EFFECTS.get(node.op, "")


def named_in(content: bytes) -> list[str]:
    """Return such operators in a TFLite file: Flex operators carry nodes of TensorFlow, whatever they are called."""
    if _FLEX not in content:
        return []
    found = sorted({name.decode() for name in _NAMED.findall(content)})
    return [name for name in found if name != "PrintV2" or b"file://" in content]
