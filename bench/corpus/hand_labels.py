"""Labels of mixed sources, given prompt by prompt.

A language model read every prompt (instruction and beginning of its input) and wrote one letter
for each, nearly all of them before any classifier was trained; nobody's rules were asked. A full
stop marks a prompt that two readers could label differently: it is left out. Rules of thumb:
asking for facts or an explanation is QA; for a list, ideas or a plan InstructionFollowing;
classifying, tagging and picking out of a given text Extraction; changing a given sentence
Paraphrasing; stories, poems, scripts and blog posts LongFormGeneration; paragraphs, articles and
arguments EssayGeneration. Letters as in ``hmas.bench.corpus.sample.CODES``; ten prompts to a word,
in the file's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from hmas.bench.corpus.sample import CODES
from hmas.engine.features import TaskType

Item = TypeVar("Item")
Labels = dict[int, str]
"""Index of the first prompt to the letters from there on."""

ALPACA: Final[Labels] = {
    0: "QPEIIMIIPQ IQRIIIPPCQ FIXQIXQCM. QFQLIQQXQQ EQIQIMQXXX"
    " FIIQQIQIII QQCFPIQDQI FIMQICQIIS QMQIQIXCEQ XIPQXIMPFQ"
    " FPQPQIFIQQ PIIIFIIIQI IQIICEQFIQ IEQIIXXQQX IPQQQIIXMQ"
    " CSPFQIQIIS PQIFQQSQQM XICPIPQIIM I.IMISPIPI QII.MCCIEP"
    " XCIQISIXQQ ..PEPIPC.C PFFQIXIQII IXIICQILQ. XSXICQXSMQ"
    " I.I.QQIXQI C.IF.IIQT. QXF.QIII.P IP.QSFQ.C. IFEMIQQSQX"
    " QQIQIQQQ.R .PIQQ.XQX. I.EC.I.MSI EFIIPIP.II Q.IXPQIQPI"
    " IXFPQXPXQQ IPMCXQEPQI PSI.PQIIFP IX.PRXQPIQ I.FPPCQIIX"
    " S.QPQSIRQI XIIIQXI.FQ ISM.QXMP.X PQIMCF.XPX QM.QQXPQII"
    " PQFCMCQ.QQ IIX.LQQMXE MQQM.PIQIM QIIRQQQIFM IQIIIQPIP."
    " FC.CQMICIC PFQCQQPIII XII..IQPXI CSFQCPQMQI QTXQIQPMII"
    " II.QMQR.CQ .X.QPMQQFQ SXP.IQCIIS IIEII.XILI PFQ..QXTC."
    " XIP.PIQI.F PPFQXIMICQ ..EIFCFIQQ .PIFIPQMIX .PQQQQIICC"
    " I.ITIQ..II QMSF..QIII ..MCIQ.F.. QPQIQI.I.Q P.IQI...PM"
    " XQQDQQXFCQ ..XQQPI.I. PQP.XF.XFX E.IQT.I.I. Q.I.TIMQQF"
    " SEQIXQIIQI ICCQCII.QI QXP.MPQXQ. II.MFQPII. ISQIQQFQI. QIIFXQII.I QQI.CIQ.IC IICQ.SQFC."
    " F..QPPMQSF Q.IFIQQIQQ IIIQIIQQII MIICX.X.RF XCPM.PII.."
    " .I.QIFIQII QCEIQXXIEQ CIQIQICIFP QP.Q.XQCII .QFQXI.SIQ"
    " QXQFPQSII. .PI.F..PQX .IPIQ.EQI. QQCQPPCFQC QQCII.I.IQ"
    " XXQXPMIQQM .QMXXCIXP",
}

SEED_TASKS: Final[Labels] = {
    0: "Q.I...IQFI IIQXI.QILQ F..IIMX.CF IC.IDM.C.X IC..IM..QI"
    " CPI.Q..IMF Q.SIS..XDC .ICQL.I..F IIQMIX..Q. IIQIXQ.PP."
    " LTQQQ....M MQI.XQITQE .IXI.IP..L .QIQIXMSCC CCQQMI..XX"
    " XXX.X.XX.X QQX..XXXXX",
}

USER_ORIENTED: Final[Labels] = {
    0: "P.P.ILPI.. I.CCCMCQIM ..PIIIIQX. IQIIIIQ... C.IIIQII.Q"
    " I...II.LFI FIIIIIIIIQ QQILLLII.I SS.EQQII.Q XXCC..C.SP"
    " T.QIIIIII. III.MQIIII IIII....II IIII.II.I. MMMMMI..IM"
    " .I.DD.PXXS SPXXXXXI.I .QII.QQICX .S.XX.IP.P C..PXC.XIS"
    " .ISI.C.II. C.X.III..I PI.I...CI. ICXIXXPIXI P.C.XQ.XII"
    " .Q",
}

OASST_ROOTS: Final[Labels] = {
    0: "QQQQQIQQCQ XQQQQDQQQ. CCQQI.QQQQ FQI......Q IIQQQQ.QQD"
    " CQCC.IQQCQ QQ.ICCQCQQ QQ.QQ.QQC. E.QCQQ.QQC .EQIDFLD.Q",
}


def labelled(items: Sequence[Item], labels: Labels) -> Iterator[tuple[Item, TaskType | None]]:
    """Each item that was read, with its task type; None where two readings are possible."""
    for first, words in labels.items():
        letters = words.replace(" ", "")
        for offset, letter in enumerate(letters):
            yield items[first + offset], CODES.get(letter)
