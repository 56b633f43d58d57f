"""The languages that a status can have: ISO 639-1, and the languages of ISO 639-3 that people post in.

Regional forms are accepted if clients offer them because they are written differently. Of other forms the language is
taken.
"""

_TABLE = """
    aa Afar, ab Abkhazian, ace Achinese, ach Acoli, ada Adangme, ady Adyghe, ae Avestan, af Afrikaans, agq Aghem,
    aii Assyrian Neo-Aramaic, ain Ainu (Japan), ak Akan, akk Akkadian, ale Aleut, alt Southern Altai, am Amharic,
    an Aragonese, ang Old English, anp Angika, apc North Levantine Arabic, ar Arabic, arc Official Aramaic,
    arn Mapudungun, arp Arapaho, ars Najdi Arabic, ary Moroccan Arabic, arz Egyptian Arabic, as Assamese,
    asa Asu (Tanzania), ast Asturian, av Avaric, awa Awadhi, ay Aymara, az Azerbaijani, ba Bashkir, bal Baluchi,
    ban Balinese, bar Bavarian, bas Basa (Cameroon), bcl Central Bikol, be Belarusian, bej Beja, bem Bemba (Zambia),
    bez Bena (Tanzania), bg Bulgarian, bho Bhojpuri, bi Bislama, bik Bikol, bin Bini, bla Siksika, bm Bambara,
    bn Bengali, bo Tibetan, bpy Bishnupriya, br Breton, brx Bodo (India), bs Bosnian, bua Buriat, bug Buginese,
    byn Bilin, ca Catalan, cbk Chavacano, cdo Min Dong Chinese, ce Chechen, ceb Cebuano, cgg Chiga, ch Chamorro,
    chk Chuukese, chm Mari (Russia), cho Choctaw, chr Cherokee, chy Cheyenne, ckb Central Kurdish, cnr Montenegrin,
    co Corsican, cop Coptic, cr Cree, crh Crimean Tatar, cs Czech, csb Kashubian, cu Church Slavonic, cv Chuvash,
    cy Welsh, da Danish, dak Dakota, dar Dargwa, dav Taita, de German, din Dinka, dje Zarma, doi Dogri,
    dsb Lower Sorbian, dua Duala, dum Middle Dutch, dv Dhivehi, dyo Jola-Fonyi, dyu Dyula, dz Dzongkha, ebu Embu,
    ee Ewe, efi Efik, egy Egyptian (Ancient), el Greek, en English, enm Middle English, eo Esperanto, es Spanish,
    et Estonian, eu Basque, ewo Ewondo, fa Persian, fan Fang (Equatorial Guinea), ff Fulah, fi Finnish, fil Filipino,
    fj Fijian, fo Faroese, fon Fon, fr French, frc Cajun French, frm Middle French, fro Old French, frp Arpitan,
    frr Northern Frisian, fur Friulian, fy Western Frisian, ga Irish, gaa Ga, gag Gagauz, gan Gan Chinese,
    gcf Guadeloupean Creole French, gcr Guianese Creole French, gd Scottish Gaelic, gez Geez, gil Gilbertese,
    gl Galician, gmh Middle High German, gn Guarani, goh Old High German, gom Goan Konkani, gor Gorontalo, got Gothic,
    grc Ancient Greek, gsw Swiss German, gu Gujarati, guc Wayuu, gur Farefare, guz Gusii, gv Manx, gwi Gwich'in,
    ha Hausa, hai Haida, hak Hakka Chinese, haw Hawaiian, he Hebrew, hi Hindi, hil Hiligaynon, hmn Hmong,
    hne Chhattisgarhi, ho Hiri Motu, hr Croatian, hsb Upper Sorbian, hsn Xiang Chinese, ht Haitian Creole,
    hu Hungarian, hup Hupa, hy Armenian, hz Herero, ia Interlingua, iba Iban, ibb Ibibio, id Indonesian,
    ie Interlingue, ig Igbo, ii Nuosu, ik Inupiaq, ilo Iloko, inh Ingush, io Ido, is Icelandic, it Italian,
    iu Inuktitut, ja Japanese, jam Jamaican Creole English, jbo Lojban, jgo Ngomba, jmc Machame, jpr Judeo-Persian,
    jrb Judeo-Arabic, jv Javanese, ka Georgian, kaa Kara-Kalpak, kab Kabyle, kac Kachin, kaj Jju, kam Kamba (Kenya),
    kbd Kabardian, kcg Tyap, kde Makonde, kea Kabuverdianu, kg Kongo, kha Khasi, khq Koyra Chiini Songhay, ki Kikuyu,
    kj Kuanyama, kk Kazakh, kl Greenlandic, kln Kalenjin, km Khmer, kmb Kimbundu, kmr Northern Kurdish,
    kn Kannada, ko Korean, koi Komi-Permyak, kok Konkani, kpe Kpelle, kr Kanuri, krc Karachay-Balkar, krl Karelian,
    kru Kurukh, ks Kashmiri, ksb Shambala, ksf Bafia, ksh Kölsch, ku Kurdish, kum Kumyk, kv Komi, kw Cornish,
    ky Kyrgyz, la Latin, lad Ladino, lag Langi, lah Lahnda, lam Lamba, lb Luxembourgish, ldn Láadan, lez Lezghian,
    lfn Lingua Franca Nova, lg Ganda, li Limburgish, lij Ligurian, lki Laki, lkt Lakota, lld Ladin, lmo Lombard,
    ln Lingala, lo Lao, lol Mongo, lou Louisiana Creole, lrc Northern Luri, lt Lithuanian, ltg Latgalian,
    lu Luba-Katanga, lua Luba-Lulua, lun Lunda, luo Luo (Kenya and Tanzania), lus Lushai, luy Luyia, lv Latvian,
    lzh Literary Chinese, mad Madurese, mag Magahi, mai Maithili, mak Makasar, man Mandingo, mas Masai, mdf Moksha,
    men Mende (Sierra Leone), mer Meru, mfe Morisyen, mg Malagasy, mgh Makhuwa-Meetto, mgo Meta', mh Marshallese,
    mi Maori, mic Mi'kmaq, min Minangkabau, mk Macedonian, ml Malayalam, mn Mongolian, mnc Manchu, mni Manipuri,
    moh Mohawk, mos Mossi, mr Marathi, mrj Western Mari, ms Malay, mt Maltese, mua Mundang, mus Creek, mwl Mirandese,
    mwr Marwari, my Burmese, myv Erzya, mzn Mazanderani, na Nauru, nan Min Nan Chinese, nap Neapolitan, naq Khoekhoe,
    nb Norwegian Bokmål, nd North Ndebele, nds Low German, ne Nepali, new Newari, ng Ndonga, nia Nias, niu Niuean,
    nl Dutch, nmg Kwasio, nn Norwegian Nynorsk, nnh Ngiemboon, no Norwegian, nog Nogai, non Old Norse, nqo N'Ko,
    nr South Ndebele, nso Pedi, nus Nuer, nv Navajo, nwc Classical Newari, ny Chichewa, nyn Nyankole, oc Occitan,
    oj Ojibwa, om Oromo, or Odia, os Ossetian, pa Punjabi, pag Pangasinan, pam Pampanga, pap Papiamento, pau Palauan,
    pcd Picard, pcm Nigerian Pidgin, pdc Pennsylvania German, pdt Plautdietsch, pfl Pfaelzisch, pi Pali, pl Polish,
    pms Piemontese, pnb Western Panjabi, pnt Pontic, prg Prussian, pro Old Provençal, ps Pashto, pt Portuguese,
    pt-BR Portuguese (Brazil), pt-PT Portuguese (Portugal), qu Quechua, quc K'iche', raj Rajasthani, rap Rapanui,
    rar Rarotongan, rgn Romagnol, rif Tarifit, rm Romansh, rmy Vlax Romani, rn Rundi, ro Romanian, rof Rombo,
    rom Romany, ru Russian, rue Rusyn, rup Macedo-Romanian, rw Kinyarwanda, rwk Rwa, sa Sanskrit, sad Sandawe,
    sah Yakut, sam Samaritan Aramaic, saq Samburu, sas Sasak, sat Santali, sba Ngambay, sbp Sangu (Tanzania),
    sc Sardinian, scn Sicilian, sco Scots, sd Sindhi, sdh Southern Kurdish, se Northern Sami, see Seneca, seh Sena,
    ses Koyraboro Senni Songhai, sg Sango, sga Old Irish, sh Serbo-Croatian, shi Tachelhit, shn Shan, si Sinhala,
    sid Sidamo, sjn Sindarin, sk Slovak, sl Slovenian, sly Selayar, sm Samoan, sma Southern Sami, smj Lule Sami,
    smn Inari Sami, sms Skolt Sami, sn Shona, snk Soninke, so Somali, sq Albanian, sr Serbian, srn Sranan Tongo,
    ss Swati, st Southern Sotho, stq Saterfriesisch, su Sundanese, suk Sukuma, sux Sumerian, sv Swedish, sw Swahili,
    swb Maore Comorian, syc Classical Syriac, syr Syriac, szl Silesian, ta Tamil, tcy Tulu, te Telugu, tem Timne,
    teo Teso, ter Tereno, tet Tetum, tg Tajik, th Thai, ti Tigrinya, tig Tigre, tiv Tiv, tk Turkmen, tl Tagalog,
    tlh Klingon, tli Tlingit, tly Talysh, tn Tswana, to Tongan, tok Toki Pona, tpi Tok Pisin, tr Turkish, trv Sediq,
    ts Tsonga, tsd Tsakonian, tt Tatar, tum Tumbuka, tvl Tuvalu, tw Twi, twq Tasawaq, ty Tahitian, tyv Tuvinian,
    tzm Central Atlas Tamazight, udm Udmurt, ug Uyghur, uga Ugaritic, uk Ukrainian, umb Umbundu, ur Urdu, uz Uzbek,
    vai Vai, ve Venda, vec Venetian, vep Veps, vi Vietnamese, vls Vlaams, vmf Mainfränkisch, vo Volapük, vot Votic,
    vro Võro, vun Vunjo, wa Walloon, wae Walser, wal Wolaytta, war Waray (Philippines), was Washo, wbp Warlpiri,
    wo Wolof, wuu Wu Chinese, xal Kalmyk, xh Xhosa, xmf Mingrelian, xog Soga, yap Yapese, yav Yangben, ybb Yemba,
    yi Yiddish, yo Yoruba, yue Yue Chinese, za Zhuang, zap Zapotec, zba Balaibalan, zbl Blissymbols, zea Zeeuws,
    zgh Standard Moroccan Tamazight, zh Chinese, zh-CN Chinese (China), zh-HK Chinese (Hong Kong),
    zh-TW Chinese (Taiwan), zh-YUE Cantonese, zu Zulu, zza Zaza
"""

# The English name of each language, by its code.
LANGUAGES = {code: name for code, _, name in (entry.strip().partition(" ") for entry in _TABLE.split(","))}
# The codes of ISO 639-2 and ISO 639-3 for languages that have a code of two letters. Libraries that detect languages
# return them, and documentation of client libraries has asked for them.
_OF_THREE_LETTERS = """
    aar=aa abk=ab afr=af aka=ak alb=sq amh=am ara=ar arg=an arm=hy asm=as ava=av ave=ae aym=ay aze=az bak=ba bam=bm
    baq=eu bel=be ben=bn bis=bi bod=bo bos=bs bre=br bul=bg bur=my cat=ca ces=cs cha=ch che=ce chi=zh chu=cu chv=cv
    cor=kw cos=co cre=cr cym=cy cze=cs dan=da deu=de div=dv dut=nl dzo=dz ell=el eng=en epo=eo est=et eus=eu ewe=ee
    fao=fo fas=fa fij=fj fin=fi fra=fr fre=fr fry=fy ful=ff geo=ka ger=de gla=gd gle=ga glg=gl glv=gv gre=el grn=gn
    guj=gu hat=ht hau=ha hbs=sh heb=he her=hz hin=hi hmo=ho hrv=hr hun=hu hye=hy ibo=ig ice=is ido=io iii=ii iku=iu
    ile=ie ina=ia ind=id ipk=ik isl=is ita=it jav=jv jpn=ja kal=kl kan=kn kas=ks kat=ka kau=kr kaz=kk khm=km kik=ki
    kin=rw kir=ky kom=kv kon=kg kor=ko kua=kj kur=ku lao=lo lat=la lav=lv lim=li lin=ln lit=lt ltz=lb lub=lu lug=lg
    mac=mk mah=mh mal=ml mao=mi mar=mr may=ms mkd=mk mlg=mg mlt=mt mon=mn mri=mi msa=ms mya=my nau=na nav=nv nbl=nr
    nde=nd ndo=ng nep=ne nld=nl nno=nn nob=nb nor=no nya=ny oci=oc oji=oj ori=or orm=om oss=os pan=pa per=fa pli=pi
    pol=pl por=pt pus=ps que=qu roh=rm ron=ro rum=ro run=rn rus=ru sag=sg san=sa sin=si slk=sk slo=sk slv=sl sme=se
    smo=sm sna=sn snd=sd som=so sot=st spa=es sqi=sq srd=sc srp=sr ssw=ss sun=su swa=sw swe=sv tah=ty tam=ta tat=tt
    tel=te tgk=tg tgl=tl tha=th tib=bo tir=ti ton=to tsn=tn tso=ts tuk=tk tur=tr twi=tw uig=ug ukr=uk urd=ur uzb=uz
    ven=ve vie=vi vol=vo wel=cy wln=wa wol=wo xho=xh yid=yi yor=yo zha=za zho=zh zul=zu
"""
# Languages of ISO 639-3 that are written as a larger language: Standard Arabic, Iranian Persian, Mandarin and others.
_OF_LARGER = """
    als=sq arb=ar azj=az cmn=zh ekk=et khk=mn lvs=lv npi=ne ory=or pes=fa plt=mg swh=sw uzn=uz ydd=yi zsm=ms
"""
# Codes that ISO 639 has withdrawn, which Java and so Android still uses.
_WITHDRAWN = "in=id iw=he ji=yi jw=jv mo=ro"
_OTHER_CODES = {
    other: code
    for text in (_OF_THREE_LETTERS, _OF_LARGER, _WITHDRAWN)
    for other, _, code in (pair.partition("=") for pair in text.split())
}
_BY_LOWER_CASE = {code.lower(): code for code in LANGUAGES}


def language_code(given: str | None) -> str | None:
    """Return the code of a language as it is stored. None if it is unknown; then the author's default applies.

    Of a tag with more parts, such as `zh-Hant-HK`, the parts in the table count: `zh-HK`.
    """
    if not given:
        return None
    first, *rest = given.strip().replace("_", "-").lower().split("-")
    parts = [_OTHER_CODES.get(first, first), *rest]
    candidates = ("-".join(parts), f"{parts[0]}-{parts[-1]}", parts[0])
    return next((code for candidate in candidates if (code := _BY_LOWER_CASE.get(candidate))), None)
